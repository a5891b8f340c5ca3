-- What the requests of a session show of it: what people recognise it by, and how full its main thread is. JSON;
-- nothing for sessions that were recorded before.
ALTER TABLE request_totals ADD COLUMN overview TEXT;
