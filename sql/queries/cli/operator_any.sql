-- cli.operator_any: whether there are operators yet.
-- rows: one, any boolean.
SELECT postrider.operator_any() AS any;
