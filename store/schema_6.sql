-- Version 6: searches. Which runs of an experiment a search tried, and what it chose.

ALTER TABLE experiments ADD COLUMN search TEXT;  -- JSON; NULL: no search, or it has not chosen yet
ALTER TABLE experiment_runs ADD COLUMN role TEXT NOT NULL DEFAULT ''
  CHECK (role IN ('', 'search'));

-- Views: these names and columns stay.

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
       coalesce(m.role, '') AS role
FROM runs r
LEFT JOIN attempts a
  ON a.run = r.number AND a.number = (SELECT max(number) FROM attempts WHERE run = r.number)
LEFT JOIN experiment_runs m
  ON m.run = r.number
 AND m.experiment = (SELECT max(experiment) FROM experiment_runs WHERE run = r.number)
LEFT JOIN experiments e ON e.number = m.experiment;

DROP VIEW experiment_list;
CREATE VIEW experiment_list AS
SELECT e.id AS experiment, e.name, e.created, e.recipe_path, e.recipe_text, e.recipe_digest,
       e.overrides, e.command_line, m.position, r.id AS run, m.label, m.role, e.search
FROM experiments e
JOIN experiment_runs m ON m.experiment = e.number
JOIN runs r ON r.number = m.run;
