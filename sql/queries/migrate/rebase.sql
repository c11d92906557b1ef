-- rebase: after a dump was restored: every row without job or end is handed over anew.
-- parameters: none
-- rows: one: rows that will be handed over, bigint
SELECT postrider.rebase();
