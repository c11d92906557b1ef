-- dead-letter.step_redrives: drives what the rates of the ordered redrives allow since the last step.
-- rows: one. driven bigint, open_orders int.
SELECT r.driven, r.open_orders FROM postrider.redrive_step() AS r;
