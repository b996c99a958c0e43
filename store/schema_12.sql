-- Version 12: when what an experiment claims was first stored; `created` is when it was last asked for.

ALTER TABLE experiments ADD COLUMN first_asked TEXT;  -- NULL: asked for before version 12 alone
