-- reconciler.pool_step: what waits at days' edges, of all channels. $1 int: at most so many of a channel and side. rows: one. settled bigint, opened bigint.
SELECT p.settled, p.opened FROM postrider.recon_pools($1::int) AS p;
