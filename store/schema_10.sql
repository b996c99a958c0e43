-- Version 10: what a run was predicted to do, stored before it began.

CREATE TABLE predictions (
  run        INTEGER PRIMARY KEY REFERENCES runs (number),
  made       TEXT NOT NULL,
  experiment TEXT  -- id of the one whose simulated runs it is made from; NULL: from the clock alone
) STRICT;

CREATE TABLE predicted_values (
  run             INTEGER NOT NULL REFERENCES predictions (run),
  position        INTEGER NOT NULL,
  quantity        TEXT NOT NULL,  -- seconds, bytes, or a metric
  normalised_time REAL,           -- of an evaluation; NULL: of the whole run
  mean            REAL NOT NULL,
  low             REAL NOT NULL,  -- from here to high: one further run with a chance of 90 %
  high            REAL NOT NULL,
  draws           TEXT NOT NULL,  -- JSON list
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE VIEW prediction_list AS
SELECT r.id AS run, p.made, p.experiment, v.position, v.quantity, v.normalised_time, v.mean, v.low,
       v.high, v.draws
FROM predictions p JOIN runs r ON r.number = p.run JOIN predicted_values v ON v.run = p.run;
