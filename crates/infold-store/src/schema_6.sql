-- What the requests of a session show of it: what people recognise it by, and how full its main thread is. JSON;
-- null for sessions that were recorded before this schema.
ALTER TABLE request_totals ADD COLUMN overview TEXT;
