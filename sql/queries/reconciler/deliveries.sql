-- reconciler.deliveries: goods that are not out in time. $1 int: at most so many. rows: one. opened bigint, through timestamptz.
SELECT d.opened, d.through FROM postrider.recon_deliveries($1::int) AS d;
