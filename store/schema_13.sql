-- Version 13: a copy of a store may leave the files of final models out; their digests stay.

ALTER TABLE artifacts ADD COLUMN removed TEXT;  -- when the file was let go of; NULL: it is there
