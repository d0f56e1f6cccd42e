"""Functions that PostgreSQL lacks, in the schema `mycel` that all workspaces of a database share.

Some have the names that SQLite gives them (`json_each`, `instr`, `->>` on text), so that the
statements of the store are written once. A function never changes its meaning: a changed function
gets a new name. `VERSION` grows when functions are added.
"""

from __future__ import annotations

import re
from typing import Final

SCHEMA: Final = "mycel"
VERSION: Final = 8

_LINKS: Final = """
        SELECT id, subject, object, seq, 9223372036854775807 AS to_seq, NULL::bigint AS dead
        FROM proposition WHERE {end} = ANY(level) AND predicate = along
        UNION ALL
        SELECT id, subject, object, from_seq, to_seq, tombstoned_at FROM proposition_past
        WHERE moment >= 0 AND {end} = ANY(level) AND predicate = along
"""
_IN_STATE: Final = """(moment < 0 OR (q.seq <= moment AND q.to_seq > moment AND q.dead IS NULL))
        AND mycel_shows(q.id, q.subject, q.object, moment, hides, valid_at)"""
_FAR: Final = f"""
    SELECT q.object AS far, q.id FROM ({_LINKS.format(end="subject")}) q
    WHERE is_forward AND {_IN_STATE}
    UNION ALL
    SELECT q.subject, q.id FROM ({_LINKS.format(end="object")}) q
    WHERE is_backward AND {_IN_STATE}
"""
"""The elements at the other ends of the links at some elements, each with its link."""

FUNCTIONS: Final = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
SET LOCAL check_function_bodies = off;
SET LOCAL search_path = {SCHEMA}, pg_catalog;
CREATE OR REPLACE FUNCTION mycel_library() RETURNS bigint LANGUAGE sql IMMUTABLE
    AS 'SELECT {VERSION}::bigint';

-- Lists and documents.
CREATE OR REPLACE FUNCTION json_each(list bigint[]) RETURNS TABLE (key bigint, value bigint)
    LANGUAGE sql IMMUTABLE ROWS 20 AS
    'SELECT u.o - 1, u.v FROM unnest($1) WITH ORDINALITY u(v, o)';
CREATE OR REPLACE FUNCTION json_each(list text[]) RETURNS TABLE (key bigint, value text)
    LANGUAGE sql IMMUTABLE ROWS 20 AS
    'SELECT u.o - 1, u.v FROM unnest($1) WITH ORDINALITY u(v, o)';
CREATE OR REPLACE FUNCTION json_each(document text)
    RETURNS TABLE (key text, value jsonb, type text)
    LANGUAGE plpgsql IMMUTABLE ROWS 20 AS $$
    BEGIN
        IF jsonb_typeof(document::jsonb) = 'object' THEN
            RETURN QUERY SELECT e.key, e.value, jsonb_typeof(e.value)
            FROM jsonb_each(document::jsonb) e;
        ELSE
            RETURN QUERY SELECT (e.o - 1)::text, e.v, jsonb_typeof(e.v)
            FROM jsonb_array_elements(document::jsonb) WITH ORDINALITY e(v, o);
        END IF;
    END $$;
CREATE OR REPLACE FUNCTION json_each(list jsonb)
    RETURNS TABLE (key text, value jsonb, type text) LANGUAGE sql IMMUTABLE ROWS 20 AS
    $$ SELECT (e.o - 1)::text, e.v, jsonb_typeof(e.v) FROM jsonb_array_elements(
       CASE jsonb_typeof($1) WHEN 'array' THEN $1 ELSE '[]' END) WITH ORDINALITY e(v, o) $$;
CREATE OR REPLACE FUNCTION mycel_quoted_path(path text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
    $$ SELECT array_agg(coalesce(m[1], m[2], m[3]) ORDER BY o) FROM regexp_matches(
       substr($1, 2), '"([^"]*)"|\\[([0-9]+)\\]|([^."[]+)', 'g') WITH ORDINALITY r(m, o) $$;
CREATE OR REPLACE FUNCTION mycel_path(path text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $1 = '$' THEN '{{}}'::text[]
       WHEN left($1, 3) = '$."' THEN {SCHEMA}.mycel_quoted_path($1) WHEN left($1, 2) = '$.'
       THEN string_to_array(replace(replace(substr($1, 3), '[', '.'), ']', ''), '.')
       ELSE ARRAY[$1] END $$;
CREATE OR REPLACE FUNCTION json_extract(document text, path text) RETURNS text
    LANGUAGE sql IMMUTABLE AS 'SELECT $1::json #>> {SCHEMA}.mycel_path($2)';
CREATE OR REPLACE FUNCTION json_extract(document text, VARIADIC paths text[]) RETURNS text
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT json_agg($1::json #> {SCHEMA}.mycel_path(p.path) ORDER BY p.place)::text
       FROM unnest($2) WITH ORDINALITY p(path, place) $$;
CREATE OR REPLACE FUNCTION json_part(document text, path text) RETURNS text
    LANGUAGE sql IMMUTABLE AS 'SELECT ($1::json #> {SCHEMA}.mycel_path($2))::text';
CREATE OR REPLACE FUNCTION json_each(document text, path text)
    RETURNS TABLE (key text, value text) LANGUAGE sql IMMUTABLE ROWS 20 AS
    $$ SELECT e.key, CASE jsonb_typeof(e.value) WHEN 'string' THEN e.value #>> '{{}}'
       ELSE e.value::text END FROM {SCHEMA}.json_each(
       coalesce(nullif({SCHEMA}.json_part($1, $2), 'null'), '[]')) e $$;
CREATE OR REPLACE FUNCTION mycel_type(value json) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE json_typeof($1) WHEN 'string' THEN 'text' WHEN 'boolean' THEN $1::text
       WHEN 'number' THEN CASE WHEN $1::text ~ '[.eE]' THEN 'real' ELSE 'integer' END
       ELSE json_typeof($1) END $$;
CREATE OR REPLACE FUNCTION json_type(document text, path text) RETURNS text
    LANGUAGE sql IMMUTABLE AS
    'SELECT {SCHEMA}.mycel_type($1::json #> {SCHEMA}.mycel_path($2))';
CREATE OR REPLACE FUNCTION json_type(document text) RETURNS text LANGUAGE sql IMMUTABLE AS
    'SELECT {SCHEMA}.mycel_type($1::json)';
DROP OPERATOR IF EXISTS ->> (text, text);
CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_extract);
DROP OPERATOR IF EXISTS -> (text, text);
CREATE OPERATOR -> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_part);
CREATE OR REPLACE FUNCTION instr(whole text, part text) RETURNS bigint LANGUAGE sql IMMUTABLE
    AS 'SELECT strpos($1, $2)::bigint';

-- Values.
CREATE OR REPLACE FUNCTION mycel_number(value json) RETURNS numeric LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE json_typeof($1) WHEN 'number' THEN ($1 #>> '{{}}')::numeric END $$;
CREATE OR REPLACE FUNCTION mycel_string(value json) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE json_typeof($1) WHEN 'string' THEN $1 #>> '{{}}' END $$;
CREATE OR REPLACE FUNCTION mycel_value(value json) RETURNS jsonb LANGUAGE sql IMMUTABLE AS
    $$ SELECT nullif($1::jsonb, 'null') $$;
CREATE OR REPLACE FUNCTION mycel_type(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE jsonb_typeof($1) WHEN 'string' THEN 'text' WHEN 'boolean' THEN $1::text
       WHEN 'number' THEN 'integer' ELSE jsonb_typeof($1) END $$;
CREATE OR REPLACE FUNCTION mycel_number(value jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE jsonb_typeof($1) WHEN 'number' THEN $1::numeric END $$;
CREATE OR REPLACE FUNCTION mycel_string(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE jsonb_typeof($1) WHEN 'string' THEN $1 #>> '{{}}' END $$;
CREATE OR REPLACE FUNCTION mycel_json_equal(one text, other text) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $1 = $2 THEN TRUE WHEN $1 = '' OR $2 = '' THEN FALSE
       ELSE coalesce($1, 'null')::jsonb = coalesce($2, 'null')::jsonb END $$;
CREATE OR REPLACE FUNCTION mycel_json_member(value text, list text) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $1 = '' THEN FALSE ELSE EXISTS (
       SELECT FROM jsonb_array_elements($2::jsonb) e WHERE e = coalesce($1, 'null')::jsonb) END $$;
CREATE OR REPLACE FUNCTION mycel_compare(one text, other text) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN json_typeof(nullif($1, '')::json) = 'number'
       AND json_typeof(nullif($2, '')::json) = 'number'
       THEN sign($1::numeric - $2::numeric)::bigint END $$;
CREATE OR REPLACE FUNCTION mycel_quoted(value text) RETURNS text LANGUAGE sql IMMUTABLE AS
    'SELECT to_json($1)::text';
CREATE OR REPLACE FUNCTION mycel_quoted(value numeric) RETURNS text LANGUAGE sql IMMUTABLE AS
    'SELECT $1::text';
CREATE OR REPLACE FUNCTION mycel_quoted(value bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
    'SELECT $1::text';
CREATE OR REPLACE FUNCTION mycel_quoted(value double precision) RETURNS text
    LANGUAGE sql IMMUTABLE AS 'SELECT to_json($1)::text';
CREATE OR REPLACE FUNCTION mycel_regex(pattern text, value text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        RAISE EXCEPTION 'REGEX' USING ERRCODE = '0A000';
    END $$;
CREATE OR REPLACE FUNCTION mycel_matches(pattern text, value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT coalesce($2 COLLATE "C" ~ $1, FALSE) $$;
CREATE OR REPLACE FUNCTION mycel_patched(document jsonb, patch jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        -- RFC 7396.
        IF jsonb_typeof(patch) <> 'object' THEN RETURN patch; END IF;
        IF document IS NULL OR jsonb_typeof(document) <> 'object' THEN
            document := '{{}}';
        END IF;
        RETURN coalesce((
            SELECT jsonb_object_agg(coalesce(p.key, d.key),
                CASE WHEN p.key IS NULL THEN d.value
                ELSE {SCHEMA}.mycel_patched(d.value, p.value) END)
            FROM jsonb_each(document) d FULL JOIN jsonb_each(patch) p ON p.key = d.key
            WHERE p.key IS NULL OR p.value <> 'null'), '{{}}');
    END $$;
CREATE OR REPLACE FUNCTION mycel_finite(value numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
    'SELECT CASE WHEN abs($1) < 1.8e308 THEN $1 END';
CREATE OR REPLACE FUNCTION mycel_finite(value double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE OR REPLACE FUNCTION mycel_entry(value numeric) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT AS $$
    DECLARE
        plain text := trim(trailing '.' FROM trim_scale(abs(value))::text);
        whole text := ltrim(split_part(plain, '.', 1), '0');
        rest text := split_part(plain, '.', 2);
        power int;
        digits text;
    BEGIN
        IF value = 0 THEN RETURN 'n5'; END IF;
        IF whole <> '' THEN power := length(whole);
        ELSE power := length(ltrim(rest, '0')) - length(rest); END IF;
        digits := rtrim(ltrim(whole || rest, '0'), '0');
        IF value > 0 THEN RETURN 'n6' || lpad((power + 50000)::text, 6, '0') || digits; END IF;
        RETURN 'n4' || lpad((50000 - power)::text, 6, '0')
            || translate(digits, '0123456789', '9876543210') || '~';
    END $$;
CREATE OR REPLACE FUNCTION mycel_entry(value bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
    'SELECT {SCHEMA}.mycel_entry($1::numeric)';
CREATE OR REPLACE FUNCTION mycel_entry(value double precision) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT AS 'SELECT {SCHEMA}.mycel_entry($1::text::numeric)';
CREATE OR REPLACE FUNCTION mycel_entry(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT 's' || CASE WHEN octet_length($1) <= 1800 THEN $1
       ELSE left($1, 400) || E'\\x01' || md5($1) END $$;
CREATE OR REPLACE FUNCTION mycel_time(microseconds bigint) RETURNS text
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT to_char(to_timestamp($1 / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
       || '.' || lpad(($1 % 1000000)::text, 6, '0') || 'Z' $$;

-- Evidence: the rule of `model.evidence`.
CREATE OR REPLACE FUNCTION mycel_source_text(value json) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE json_typeof($1) WHEN 'string' THEN nullif($1 #>> '{{}}', '') END $$;
CREATE OR REPLACE FUNCTION mycel_source_confidence(value json) RETURNS numeric
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE json_typeof($1) WHEN 'number'
       THEN least(greatest(($1 #>> '{{}}')::numeric, 0), 1) ELSE 0.7 END $$;
CREATE OR REPLACE FUNCTION mycel_belief_status(metadata text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT AS $$
    DECLARE
        document json := metadata::json;
        stances text[] := ARRAY['supports'];
        actors text[] := ARRAY[mycel_source_text(document -> 'author'::text)];
        origins text[] := ARRAY[mycel_source_text(document -> 'source'::text)];
        confidences numeric[] := ARRAY[mycel_source_confidence(document -> 'confidence'::text)];
        -- A link without author and source is the word of whoever supports it.
        is_nameless boolean := actors[1] IS NULL AND origins[1] IS NULL;
        groups bigint[] := '{{}}';
        entry json;
        highest numeric;
        strength numeric;
        strengths numeric[] := '{{}}';
        side text;
    BEGIN
        IF json_typeof(document -> 'evidence'::text) = 'array' THEN
            FOR entry IN SELECT e FROM json_array_elements(document -> 'evidence'::text) e LOOP
                CONTINUE WHEN json_typeof(entry) <> 'object';
                side := mycel_source_text(entry -> 'stance'::text);
                CONTINUE WHEN side IS NULL OR side NOT IN ('supports', 'challenges');
                stances := stances || side;
                actors := actors || mycel_source_text(entry -> 'by'::text);
                origins := origins || mycel_source_text(entry -> 'source'::text);
                confidences := confidences || mycel_source_confidence(entry -> 'confidence'::text);
            END LOOP;
        END IF;
        -- An actor who has changed sides counts with the last side.
        FOR i IN 1 .. cardinality(stances) LOOP
            FOR j IN i + 1 .. cardinality(stances) LOOP
                IF actors[j] = actors[i] AND stances[j] <> stances[i] THEN
                    groups[i] := 0;
                ELSIF actors[j] = actors[i] THEN
                    groups[i] := i;
                END IF;
            END LOOP;
            groups[i] := coalesce(groups[i], i);
        END LOOP;
        FOR i IN 1 .. cardinality(stances) LOOP
            CONTINUE WHEN groups[i] = 0;
            FOR j IN 1 .. i - 1 LOOP
                IF groups[j] <> 0 AND stances[j] = stances[i]
                        AND (actors[j] IN (actors[i], origins[i])
                            OR origins[j] IN (actors[i], origins[i])) THEN
                    groups := array_replace(groups, groups[j], groups[i]);
                END IF;
            END LOOP;
        END LOOP;
        IF is_nameless THEN groups[1] := 0; END IF;
        FOREACH side IN ARRAY ARRAY['supports', 'challenges'] LOOP
            strength := 1;
            FOR highest IN SELECT max(c) FROM unnest(groups, confidences, stances) u(g, c, s)
                    WHERE u.g <> 0 AND u.s = side GROUP BY u.g ORDER BY 1 DESC LOOP
                IF is_nameless THEN highest := greatest(highest, confidences[1]); END IF;
                is_nameless := false;
                strength := strength * (1 - highest);
            END LOOP;
            IF is_nameless THEN strength := 1 - confidences[1]; END IF;
            is_nameless := false;
            strengths := strengths || round(1 - strength, 9);
        END LOOP;
        RETURN CASE WHEN strengths[1] >= 0.3 AND strengths[2] >= 0.3 THEN 'contested'
            WHEN strengths[1] >= 0.7 THEN 'accepted'
            WHEN strengths[2] >= 0.7 THEN 'rejected' ELSE 'insufficient' END;
    END $$;

-- Aggregates.
CREATE OR REPLACE FUNCTION mycel_lesser(one text, other text) RETURNS text
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $1 IS NULL THEN $2 WHEN $2 IS NULL THEN $1
       WHEN (left($1, 1) = '"') <> (left($2, 1) = '"')
       THEN CASE WHEN left($1, 1) = '"' THEN $2 ELSE $1 END
       WHEN left($1, 1) = '"'
       THEN CASE WHEN ($2::json #>> '{{}}') COLLATE "C" < ($1::json #>> '{{}}') COLLATE "C"
            THEN $2 ELSE $1 END
       WHEN $2::numeric < $1::numeric THEN $2 ELSE $1 END $$;
CREATE OR REPLACE FUNCTION mycel_greater(one text, other text) RETURNS text
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $1 IS NULL THEN $2 WHEN $2 IS NULL THEN $1
       WHEN {SCHEMA}.mycel_lesser($2, $1) = $1 THEN $2 ELSE $1 END $$;
CREATE OR REPLACE AGGREGATE mycel_min(text) (SFUNC = mycel_lesser, STYPE = text);
CREATE OR REPLACE AGGREGATE mycel_max(text) (SFUNC = mycel_greater, STYPE = text);
CREATE OR REPLACE FUNCTION mycel_count_in(sums numeric[], value numeric) RETURNS numeric[]
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $2 IS NULL THEN $1 ELSE ARRAY[$1[1] + $2, $1[2] + 1] END $$;
CREATE OR REPLACE FUNCTION mycel_count_in(sums numeric[], value double precision)
    RETURNS numeric[] LANGUAGE sql IMMUTABLE AS
    'SELECT {SCHEMA}.mycel_count_in($1, $2::text::numeric)';
CREATE OR REPLACE FUNCTION mycel_quotient(sums numeric[]) RETURNS double precision
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN $1[2] > 0 AND abs($1[1]) < 1.8e308
       THEN $1[1]::double precision / $1[2]::double precision END $$;
CREATE OR REPLACE AGGREGATE mycel_avg(numeric)
    (SFUNC = mycel_count_in, STYPE = numeric[], FINALFUNC = mycel_quotient, INITCOND = '{{0,0}}');
CREATE OR REPLACE AGGREGATE mycel_avg(double precision)
    (SFUNC = mycel_count_in, STYPE = numeric[], FINALFUNC = mycel_quotient, INITCOND = '{{0,0}}');
CREATE OR REPLACE FUNCTION mycel_add(total double precision, value double precision)
    RETURNS double precision LANGUAGE sql IMMUTABLE AS 'SELECT $1 + coalesce($2, 0)';
CREATE OR REPLACE AGGREGATE total(double precision)
    (SFUNC = mycel_add, STYPE = double precision, INITCOND = '0');

-- Walks.
CREATE OR REPLACE FUNCTION mycel_shows(link bigint, source bigint, target bigint,
        moment bigint, hides bigint, valid_at bigint) RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT (hides = 0 OR NOT EXISTS (SELECT FROM hidden x WHERE x.element = link
           AND CASE WHEN moment < 0 THEN x.to_seq = 9223372036854775807
               ELSE x.from_seq <= moment AND x.to_seq > moment END))
       AND (valid_at = 9223372036854775807 OR NOT EXISTS (
           SELECT FROM lifetime x WHERE x.element IN (link, source, target)
           AND CASE WHEN moment < 0 THEN x.to_seq = 9223372036854775807
               ELSE x.from_seq <= moment AND x.to_seq > moment END
           AND (x.valid_from > valid_at OR x.valid_until <= valid_at)
           AND NOT EXISTS (SELECT FROM former_period y WHERE y.element = x.element
               AND CASE WHEN moment < 0 THEN y.to_seq = 9223372036854775807
                   ELSE y.from_seq <= moment AND y.to_seq > moment END
               AND y.valid_from <= valid_at AND y.valid_until > valid_at))) $$;
CREATE OR REPLACE FUNCTION mycel_step(level bigint[], along bigint, is_forward boolean,
        is_backward boolean, moment bigint, hides bigint, valid_at bigint)
    RETURNS bigint[] LANGUAGE sql STABLE AS
    $$ SELECT coalesce(array_agg(n.far ORDER BY n.far), '{{}}')
       FROM (SELECT DISTINCT f.far FROM ({_FAR}) f) n $$;
CREATE OR REPLACE FUNCTION mycel_exactly(start bigint, along bigint, far bigint,
        forward boolean, backward boolean, moment bigint, hides bigint, valid_at bigint)
    RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
    DECLARE
        level bigint[] := ARRAY[start];
        kept bigint[] := level;
        kept_at bigint := 0;
        power bigint := 1;
        place bigint := 0;
        rest bigint;
    BEGIN
        -- Levels repeat from some length on; then the rest is counted (Brent).
        WHILE place < far AND cardinality(level) > 0 LOOP
            level := mycel_step(level, along, forward, backward, moment, hides, valid_at);
            place := place + 1;
            IF level = kept THEN
                rest := (far - place) % (place - kept_at);
                WHILE rest > 0 LOOP
                    level := mycel_step(level, along, forward, backward, moment, hides, valid_at);
                    rest := rest - 1;
                END LOOP;
                RETURN level;
            END IF;
            IF place - kept_at = power THEN
                kept := level; kept_at := place; power := power * 2;
            END IF;
        END LOOP;
        RETURN level;
    END $$;
CREATE OR REPLACE FUNCTION mycel_reached(start bigint, along bigint, minimum bigint,
        maximum bigint, is_mirrored bigint, moment bigint, hides bigint, valid_at bigint,
        is_forward bigint)
    RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
    DECLARE
        level bigint[];
        reached bigint[] := '{{}}';
        place bigint := greatest(minimum, 1) - 1;
        forward boolean := is_forward = 1 OR is_mirrored = 1;
        backward boolean := is_forward = 0 OR is_mirrored = 1;
    BEGIN
        IF start IS NULL THEN RETURN '{{}}'; END IF;
        IF minimum = 0 AND start % 2 = 0 THEN reached := ARRAY[start]; END IF;
        level := mycel_exactly(start, along, place, forward, backward, moment, hides, valid_at);
        WHILE (maximum < 0 OR place < maximum) AND cardinality(level) > 0 LOOP
            place := place + 1;
            level := mycel_step(level, along, forward, backward, moment, hides, valid_at);
            level := ARRAY(SELECT unnest(level)
                           EXCEPT SELECT unnest(reached));
            reached := reached || level;
        END LOOP;
        RETURN reached;
    END $$;
CREATE OR REPLACE FUNCTION mycel_circles(along bigint, moment bigint, hides bigint,
        valid_at bigint)
    RETURNS bigint[] LANGUAGE sql STABLE AS
    $$ SELECT coalesce(array_agg(s.n), '{{}}') FROM (
           SELECT DISTINCT subject AS n FROM proposition WHERE predicate = along
           UNION SELECT subject FROM proposition_past WHERE moment >= 0 AND predicate = along) s
       WHERE s.n = ANY(mycel_reached(s.n, along, 1, -1, 0, moment, hides, valid_at, 1)) $$;
CREATE OR REPLACE FUNCTION mycel_step_links(level bigint[], along bigint, is_backward boolean,
        moment bigint, hides bigint, valid_at bigint)
    RETURNS TABLE (far bigint, link bigint) LANGUAGE sql STABLE AS
    $$ WITH way (is_forward) AS (VALUES (TRUE))
       SELECT f.far, min(f.id) FROM way, LATERAL ({_FAR}) f GROUP BY f.far $$;
CREATE OR REPLACE FUNCTION mycel_walks(start bigint, along bigint, minimum bigint,
        maximum bigint, is_mirrored bigint, moment bigint, hides bigint, valid_at bigint)
    RETURNS jsonb[] LANGUAGE plpgsql STABLE AS $$
    DECLARE
        level bigint[];
        reached bigint[] := '{{}}';
        walks jsonb[] := '{{}}';
        place bigint := greatest(minimum, 1) - 1;
        more bigint[];
        found jsonb[];
        mirrored boolean := is_mirrored = 1;
    BEGIN
        IF start IS NULL THEN RETURN walks; END IF;
        IF minimum = 0 AND start % 2 = 0 THEN
            reached := ARRAY[start];
            walks := ARRAY[jsonb_build_array(start, NULL)];
        END IF;
        level := mycel_exactly(start, along, place, TRUE, mirrored, moment, hides, valid_at);
        WHILE (maximum < 0 OR place < maximum) AND cardinality(level) > 0 LOOP
            place := place + 1;
            SELECT coalesce(array_agg(s.far), '{{}}'),
                   coalesce(array_agg(jsonb_build_array(s.far, s.link)), '{{}}')
            INTO more, found
            FROM mycel_step_links(level, along, mirrored, moment, hides, valid_at) s
            WHERE s.far <> ALL(reached);
            level := more;
            reached := reached || more;
            walks := walks || found;
        END LOOP;
        RETURN walks;
    END $$;
"""
"""The statements that install the library; running them again does no harm."""

NAMES: Final = frozenset(re.findall(r"CREATE OR REPLACE FUNCTION (\w+)", FUNCTIONS))
"""The names of the functions."""
