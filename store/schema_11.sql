-- Version 11: tags and notes, which people put on runs and experiments. They name these by their
-- ids: an experiment gets a new number each time it is asked for.

CREATE TABLE tags (
  kind  TEXT NOT NULL CHECK (kind IN ('run', 'experiment')),
  id    TEXT NOT NULL,
  tag   TEXT NOT NULL,
  added TEXT NOT NULL,
  PRIMARY KEY (kind, id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
  kind TEXT NOT NULL CHECK (kind IN ('run', 'experiment')),
  id   TEXT NOT NULL,
  time TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (kind, id, time, text)
) STRICT, WITHOUT ROWID;

-- A digest of all tags and notes; NULL: there are none yet.
ALTER TABLE store_seal ADD COLUMN tags TEXT;

-- Views: these names and columns stay.

CREATE VIEW tag_list AS SELECT kind, id, tag, added FROM tags;
CREATE VIEW note_list AS SELECT kind, id, time, text FROM notes;

DROP VIEW run_list;
CREATE VIEW run_list AS
SELECT r.id, e.id AS experiment, e.name AS experiment_name, r.algorithm,
       coalesce(m.label, r.algorithm) AS label, r.seed, r.digest, r.group_digest,
       CASE WHEN a.id IS NULL THEN 'planned' ELSE coalesce(a.outcome, 'running') END AS state,
       coalesce(a.message, '') AS message, r.driver, r.topology, r.workers, r.created,
       a.number AS attempts, a.started, a.ended AS finished, a.heartbeat, r.budget_gradients,
       a.gradients, a.normalised_time, a.seconds, a.bytes, r.settings, r.plan,
       -- Text, not json_group_object(): acid does not trust schemas, and then no view may use it.
       (SELECT '{' || coalesce(group_concat('"' || s.metric || '":' || s.last), '') || '}'
        FROM series s
        WHERE s.attempt = a.id AND s.worker = -1 AND s.last_special = 0) AS metrics,
       coalesce(m.role, '') AS role,
       coalesce((SELECT group_concat(t.tag, ' ') FROM tags t
                 WHERE t.kind = 'run' AND t.id = r.id), '') AS tags,
       coalesce((SELECT group_concat(' ' || t.tag || ' ', '') FROM tags t
                 WHERE t.kind = 'run' AND t.id = r.id), '')
         || coalesce((SELECT group_concat(' ' || t.tag || ' ', '')
                      FROM experiment_runs o JOIN experiments x ON x.number = o.experiment
                      JOIN tags t ON t.kind = 'experiment' AND t.id = x.id
                      WHERE o.run = r.number), '') AS tagged
FROM runs r
LEFT JOIN attempts a
  ON a.run = r.number AND a.number = (SELECT max(number) FROM attempts WHERE run = r.number)
LEFT JOIN experiment_runs m
  ON m.run = r.number
 AND m.experiment = (SELECT max(experiment) FROM experiment_runs WHERE run = r.number)
LEFT JOIN experiments e ON e.number = m.experiment;
