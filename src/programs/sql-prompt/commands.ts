/** Owns the commands of the prompt that look at the database. Each is a query. */

export interface CommandQuery {
  text: string;
  values: string[];
}

export const helpText = `  \\q          leave
  \\dt         tables, views and sequences
  \\d NAME     columns and indexes of a table
  \\dn         schemas
  \\du         roles
  \\l          databases
  \\df         functions
  \\x          one line a column, or back
`;

const ownSchemas =
  "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast'";

const relations = `SELECT n.nspname AS "Schema", c.relname AS "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
    WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' END AS "Type",
  pg_get_userbyid(c.relowner) AS "Owner"
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN (KINDS) AND ${ownSchemas} ORDER BY 1, 2`;

const queries: Readonly<Record<string, string>> = {
  '\\dt': relations.replace('KINDS', "'r', 'p'"),
  '\\d': relations.replace('KINDS', "'r', 'p', 'v', 'm', 'S', 'f'"),
  '\\dv': relations.replace('KINDS', "'v', 'm'"),
  '\\dn': `SELECT n.nspname AS "Name", pg_get_userbyid(n.nspowner) AS "Owner"
FROM pg_namespace n WHERE ${ownSchemas} ORDER BY 1`,
  '\\du': `SELECT rolname AS "Role name", concat_ws(', ', CASE WHEN rolsuper THEN 'Superuser' END,
  CASE WHEN NOT rolcanlogin THEN 'Cannot login' END) AS "Attributes" FROM pg_roles
WHERE rolname !~ '^pg_' ORDER BY 1`,
  '\\l': `SELECT datname AS "Name", pg_get_userbyid(datdba) AS "Owner",
  pg_encoding_to_char(encoding) AS "Encoding" FROM pg_database WHERE NOT datistemplate ORDER BY 1`,
  '\\df': `SELECT n.nspname AS "Schema", p.proname AS "Name", pg_get_function_result(p.oid) AS "Result",
  pg_get_function_arguments(p.oid) AS "Arguments" FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace WHERE ${ownSchemas} ORDER BY 1, 2`,
};

const columns = `SELECT a.attname AS "Column", format_type(a.atttypid, a.atttypmod) AS "Type",
  CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS "Nullable",
  coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS "Default"
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

/** Null for an unknown command. */
export function commandQuery(name: string, argument: string | undefined): CommandQuery | null {
  const plain = name.replace(/\+$/, '');
  if (plain === '\\d' && argument !== undefined) return { text: columns, values: [argument] };
  const text = queries[plain];
  return text === undefined ? null : { text, values: [] };
}
