-- What lists show of a run besides its place: the name that its user gave it, its grade as a
-- database's log, and which of its tests has the latency that stands for it.
ALTER TABLE runs ADD COLUMN label TEXT;
ALTER TABLE runs ADD COLUMN log_grade TEXT;
ALTER TABLE runs ADD COLUMN headline INTEGER;
