-- Version 7: who holds what. Of how many training examples a worker draws its minibatches.

CREATE TABLE holdings (
  attempt  INTEGER NOT NULL REFERENCES attempts (id),
  worker   INTEGER NOT NULL,
  examples INTEGER NOT NULL,
  classes  TEXT,  -- JSON, a list: how many examples of each class; NULL: they have no class
  PRIMARY KEY (attempt, worker)
) STRICT, WITHOUT ROWID;

CREATE VIEW holding_list AS
SELECT r.id AS run, a.number AS attempt, h.worker, h.examples, h.classes
FROM holdings h JOIN attempts a ON a.id = h.attempt JOIN runs r ON r.number = a.run;
