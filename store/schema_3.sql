-- Version 3: how stale gradients were, and how the workers spent their time at the beginning.

ALTER TABLE results ADD COLUMN staleness TEXT NOT NULL DEFAULT '[]';  -- JSON: gradients by staleness

-- 20 bytes a span, little-endian: kind (32 bits: 0 compute, 1 wait, 2 exchange), begin and end in
-- seconds (IEEE doubles).
CREATE TABLE worker_spans (
  attempt INTEGER NOT NULL REFERENCES attempts (id),
  worker  INTEGER NOT NULL,
  spans   BLOB NOT NULL,
  PRIMARY KEY (attempt, worker)
) STRICT;

-- Views: these names and columns stay.

CREATE VIEW staleness_list AS
SELECT r.id AS run, a.number AS attempt, s.key AS staleness, s.value AS gradients
FROM results x
JOIN attempts a ON a.id = x.attempt
JOIN runs r ON r.number = a.run
JOIN json_each(x.staleness) s;
