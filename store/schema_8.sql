-- Version 8: how an experiment's runs are to be compared, as its recipe says it.

ALTER TABLE experiments ADD COLUMN comparison TEXT;  -- JSON; NULL: the recipe does not say

-- Views: these names and columns stay.

DROP VIEW experiment_list;
CREATE VIEW experiment_list AS
SELECT e.id AS experiment, e.name, e.created, e.recipe_path, e.recipe_text, e.recipe_digest,
       e.overrides, e.command_line, m.position, r.id AS run, m.label, m.role, e.search,
       e.comparison
FROM experiments e
JOIN experiment_runs m ON m.experiment = e.number
JOIN runs r ON r.number = m.run;
