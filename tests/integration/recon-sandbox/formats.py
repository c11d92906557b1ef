# SPDX-License-Identifier: Apache-2.0
"""Every statement that a shipped profile can fetch, with the gateway's real authentication; and what goes wrong on the way. Nothing here is
charged: the rows are planted, numbers that nobody here knows."""
import concurrent.futures
import json

from day import LONG_S, day, recon
from judged import wait_for
from payments import quoted

# profile, its statement, whose days, currency, what the file proves of itself
CASES = [
    ("wechat-v3", "trade", "Asia/Shanghai", "CNY", "proved"), ("wechat-v3", "funds", "Asia/Shanghai", "CNY", "proved"),
    ("alipay", "trade", "Asia/Shanghai", "CNY", "proved"), ("alipay", "account", "Asia/Shanghai", "CNY", "proved"),
    ("stripe", "balance", "UTC", "USD", "not_given"), ("sandbox", "csv", "UTC", "CNY", "proved"), ("sandbox", "camt", "UTC", "CNY", "proved"),
]
DATE = str(day(3))


class Channel:
    """A channel at the sandbox, called as its account."""

    def __init__(self, it, books, name, profile, zone="UTC"):
        self.it, self.name, self.profile = it, name, profile
        made = self.control("account")
        parameters = [{"name": key, "sealed": books.seal(name, value)} for key, value in made["parameters"].items()]
        settings = {"profile": profile, "base_url": f"http://{it.sandbox.address}", "match": ["number", "amount", "currency"], "failure_final": True,
                    "unit": "minor", "not_found": "yet", "not_found_grace_ms": 0, "settle_ms": 0, "polls": "list:1h", "max_polls": 5, "operations": ["query"]}
        it.sql(f"select postrider.channel_add('test', '{name}', {quoted(settings)}, {quoted(parameters)})")
        it.cli("recon", "set", name, "--zone", zone)

    def control(self, what, **more):
        status, _, body = self.it.sandbox.call("POST", f"/control/gateway/{what}", json.dumps({"profile": self.profile, "account": self.name, **more}))
        assert status == 200, (what, status, body)
        return json.loads(body)

    def plant(self, count, currency="CNY"):
        for n in range(count):
            self.control("statement", request_no=f"{self.name}-{n}", plant=f"extra:{100 + n}", currency=currency, date=DATE)

    def run(self, *arguments, date=DATE, fails=False):
        return recon(self.it, "run", "--channel", self.name, "--date", date, "--source", "download", "--wait", "1h", *arguments, fails=fails)

    def files(self):
        return int(self.it.value(f"select count(*) from postrider.recon_file where channel = '{self.name}'"))


def together(ask, channels):
    """What ask says of each, asked at once: the reconciler takes them one after the other."""
    with concurrent.futures.ThreadPoolExecutor(len(channels)) as pool:
        return list(pool.map(ask, channels))


def fetched(tap, it, books):
    channels = []
    for profile, statement, zone, currency, _ in CASES:
        channels.append(Channel(it, books, f"{profile}-{statement}", profile, zone))
        channels[-1].plant(3, currency)
    said = together(lambda one: one.run("--format", one.name.rsplit("-", 1)[1]), channels)
    for (profile, statement, _, _, proof), got in zip(CASES, said):
        tap.equal((got["status"], got["kind"], got["items"], got["bad"], got["proof"], got["differences"]), ("matched", statement, 3, 0, proof, {"missing_here": 3}),
                  f"{profile}: {statement} is downloaded and read")


# name, profile, whose days, trouble at the gateway, a fault of its files, what is said
FAULTS = [
    ("hash", "wechat-v3", "Asia/Shanghai", None, "hash", ("not the one that the channel announced",)),
    ("cut", "wechat-v3", "Asia/Shanghai", None, "cut", ("gzip",)),
    ("zip", "alipay", "Asia/Shanghai", None, "cut", ("zip",)),
    ("away", "sandbox", "UTC", "~any:reset*", None, ("no_answer", "later")),
    ("upset", "sandbox", "UTC", "~any:500*", None, ("HTTP 500",)),
    ("zone", "wechat-v3", "UTC", None, None, ("--zone",)),
    ("files", "adyen", "UTC", None, None, ("--file",)),
    ("throttled", "wechat-v3", "Asia/Shanghai", "~statement:429:90s", None, ("rate_limited", "later")),
    ("refused", "sandbox", "UTC", "~any:401*", None, ("credential_refused", "channel resume")),
]


def not_fetched(tap, it, books):
    """Each says why, and leaves nothing."""
    channels = {}
    for name, profile, zone, trouble, plant, _ in FAULTS:
        channels[name] = Channel(it, books, name, profile, zone)
        channels[name].plant(2)
        if trouble:
            channels[name].control("account", trouble=trouble)
        if plant:
            channels[name].control("statement", request_no="*", plant=plant)
    said = together(lambda one: one.run(fails=True), list(channels.values()))
    for (name, *_, words), text in zip(FAULTS, said):
        tap.check(all(word in text for word in words) and channels[name].files() == 0, f"{name}: {', '.join(words)}", text)
    left = "select until > clock_timestamp() from postrider.channel_pause where channel_no = (select no from postrider.channel where id = 'throttled')"
    tap.equal(it.value(left), "t", "a 429 is obeyed by all: the channel is left alone for as long as it asked")
    tap.equal(it.sql("select state from postrider.channel where id = 'refused' union all "
                     "select kind from postrider.alert where subject = 'refused' and resolved_at is null"), [["stopped"], ["channel_stopped"]],
              "a refused credential stops the channel, and alerts")
    text = channels["refused"].run(fails=True)
    tap.check("is stopped" in text, "of a stopped channel nothing is fetched", text)
    channels["hash"].control("statement", request_no="*", plant="")
    tap.equal(channels["hash"].run()["status"], "matched", "once it is the right file, it is imported")


def nothing(tap, it, books):
    """A day without rows is an answer: kept, where it agrees with us."""
    empty = Channel(it, books, "empty", "wechat-v3", "Asia/Shanghai")
    said = empty.run()
    tap.equal((said["status"], said["rows"], said["differences"]), ("matched", 0, {}), "a day of which the channel has nothing is done with")
    other = Channel(it, books, "other", "wechat-v3", "Asia/Shanghai")
    it.sql("alter table postrider.payment disable trigger user")
    it.sql("insert into postrider.payment (merchant_id, order_no, channel, channel_no, state, amount_minor, currency, captured_minor, version, request_no, single, "
           f"created_at, expires_at, paid_at, final_at, notify_id, args_hash) select 'm1', 'ours', id, no, 'succeeded', 5, 'CNY', 5, 1, 'ours', true, d, d, d, d, "
           f"gen_random_uuid(), '' from postrider.channel, (select timestamptz '{DATE} 06:00:00+08' as d) as x where id = 'other'")
    it.sql("alter table postrider.payment enable trigger user")
    text = other.run(fails=True)
    tap.check("1 payments were paid here" in text and other.files() == 0, "where we have payments it may not be made yet: tried again later", text)


def too_large(tap, it, books, reconciler):
    reconciler.stop()
    it.start("reconciler", "--set", "reconciler.max_file=1KiB", label="small")
    one = Channel(it, books, "large", "sandbox")
    one.plant(100)
    text = one.run(fails=True)
    tap.check("reconciler.max_file" in text and one.files() == 0, "a file that is too large is not fetched to its end", text)


def budget(tap, it):
    """Every turn that was taken has ended."""
    turns = "select count(*) from postrider.channel_turn where until > clock_timestamp()"
    wait_for(lambda: it.value(turns) == "0", LONG_S, "turns to end")
    tap.equal(it.value(turns), "0", "no turn of a channel's budget is left behind")
