# SPDX-License-Identifier: Apache-2.0
"""A channel of its own, with gateway, workers and schedulers, on a Scratch that several share."""
import signal

from calls import Gateway, Worker
from scratch import eventually

# What lets a lease be short.
SHORT = ("http.connect_timeout=500ms", "http.tls_timeout=500ms", "http.first_byte_timeout=500ms", "http.total_timeout=900ms")
CHANNEL = """insert into postrider.channel (id, profile, base_url, match, failure_final, unit, not_found, not_found_grace_ms, settle_ms,
    rate_per_s, burst, concurrency, polls, max_polls, operations)
    values ('{id}', 'sandbox', 'http://127.0.0.1:9', '{{number,amount,currency}}', true, 'minor', 'yet', 0, {settle_ms},
    {rate}, {burst}, {concurrency}, 'list:1m,5m', 20, '{{charge,query,find,refund,query_refund,close}}')"""


class World:
    """A topology of its own channel; everything it started is gone afterwards."""

    def __init__(self, scratch, name, rate=0, burst=1, concurrency=400, settle_ms=0, settings=()):
        self.s, self.name, self.settings = scratch, name, settings
        self.gateway, self.workers, self.actors = Gateway(), [], []
        scratch.sql(CHANNEL.format(id=name, rate=rate, burst=burst, concurrency=concurrency, settle_ms=settle_ms))

    def scheduler(self):
        actor = self.s.actor("gateway-scheduler", *[word for it in self.settings for word in ("--set", it)]).ready()
        self.actors.append(actor)
        return actor

    def worker(self, **more):
        worker = Worker(self.s, self.gateway, **more)
        self.workers.append(worker)
        return worker

    def track(self, count, overdue=True, first=1):
        """Payments that the application charged itself; overdue: their first question should have been an hour ago."""
        self.s.sql(f"select postrider.track_payment('m1', '{self.name}-' || n, '{self.name}', '{self.name}-g' || n, 100 + n, 'CNY')"
                   f" from generate_series({first}, {first + count - 1}) n")
        if overdue:
            self.s.sql(f"update postrider.call set due = now() - interval '1 h' where due is not null and {self.mine}")

    def submit(self, count):
        self.s.sql(f"select postrider.submit_payment('m1', '{self.name}-' || n, '{self.name}', 100 + n, 'CNY')"
                   f" from generate_series(1, {count}) n")

    @property
    def mine(self):
        return f"payment_id in (select id from postrider.payment where channel = '{self.name}')"

    def states(self):
        return self.s.sql(f"select string_agg(state || ' ' || n, ', ' order by state) from (select state, count(*) n"
                          f" from postrider.payment where channel = '{self.name}' group by 1) x")

    def ends(self, states):
        seen = []

        def look():
            seen[:] = [self.states()]
            return seen[0] == states
        try:
            eventually(look, "")
        except AssertionError:
            raise AssertionError(f"payments are {seen[0]!r}, not {states!r}\n{self.logs()}") from None

    def owner(self):
        """The pid of the backend that holds the channel's shard, or 0."""
        return int(self.s.sql(f"select coalesce((select s.pid from postrider.channel c join postrider.call_shard h on h.no = c.shard"
                              f" join postrider.call_session s on s.id = h.session and s.ended is null where c.id = '{self.name}'), 0)"))

    def logs(self):
        return "\n".join(line for a in self.actors for line in a.log_text().splitlines()[-15:])

    def close(self):
        for actor in self.actors:
            if actor.alive():
                actor.process.send_signal(signal.SIGCONT)
                actor.kill()
        for worker in self.workers:
            worker.end()
        self.s.sql(f"update postrider.channel set state = 'paused' where id = '{self.name}' and state = 'active'")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
