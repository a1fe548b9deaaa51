// Checks the dashboards against the types that Grafana itself has for them.
//
//   npm ci && npm test
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const here = dirname(fileURLToPath(import.meta.url));
const types = './node_modules/@grafana/schema/dist/types';

// What the fields of each kind of panel may be set to, beyond what all have.
const fieldConfigs = {
  bargauge: 'Record<string, never>',
  heatmap: 'heatmap.FieldConfig',
  stat: 'Record<string, never>',
  table: 'common.TableFieldOptions',
  timeseries: 'common.GraphFieldConfig',
};

// What annotations have for Prometheus only, which their types do not know.
const prometheusOnly = ['expr', 'instant', 'range', 'titleFormat', 'useValueForTime'];

// TypeScript takes no text for an enum, so Text says which texts an enum stands for.
function program(dashboards) {
  const lines = [
    `import type * as common from '@grafana/schema';`,
    ...Object.keys(fieldConfigs).map((kind) => `import type * as ${kind} from '${types}/raw/composable/${kind}/panelcfg/x/types.gen';`),
    'type Text<T> = T extends string ? `${T}` : T extends Array<infer U> ? Array<Text<U>> : T extends object ? { [K in keyof T]: Text<T[K]> } : T;',
  ];
  let panels = 0;
  for (const dashboard of dashboards) {
    for (const annotation of dashboard.annotations.list ?? []) {
      prometheusOnly.forEach((key) => delete annotation[key] && delete annotation.target[key]);
    }
    lines.push(`export const ${dashboard.uid.replace('-', '_')}: Text<common.Dashboard> = ${JSON.stringify(dashboard)};`);
    for (const { type, title, options, fieldConfig } of dashboard.panels) {
      if (type === 'row') {
        continue;
      }
      panels++;
      // The newest types know no footer of a table any more; the SDK, which speaks for older versions, demands one.
      const { footer, ...rest } = options;
      lines.push(`/* ${dashboard.uid}: ${title} */ export const options${panels}: Text<${type}.Options> = ${JSON.stringify(type === 'table' ? rest : options)};`);
      lines.push(`/* ${dashboard.uid}: ${title} */ export const fields${panels}: Partial<Text<${fieldConfigs[type]}>> = ${JSON.stringify(fieldConfig.defaults.custom ?? {})};`);
    }
  }
  return { text: lines.join('\n'), panels };
}

function check(text) {
  const file = join(here, 'dashboards.ts');
  const settings = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2022,
  };
  const host = ts.createCompilerHost(settings);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (name, ...more) => (name === file ? ts.createSourceFile(name, text, settings.target) : getSourceFile(name, ...more));
  host.fileExists = (name) => name === file || fileExists(name);
  host.readFile = (name) => (name === file ? text : readFile(name));
  return ts.getPreEmitDiagnostics(ts.createProgram([file], settings, host));
}

function describe(diagnostic) {
  const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n');
  const source = diagnostic.file?.text;
  if (!source) {
    return message;
  }
  const start = source.lastIndexOf('\n', diagnostic.start) + 1;
  return `${source.slice(start, start + 90)}…\n  at ${source.slice(diagnostic.start, diagnostic.start + 90)}…\n  ${message}`;
}

const files = readdirSync(join(here, '..')).filter((name) => /^iceberg-.*\.json$/.test(name));
const { text, panels } = program(files.map((name) => JSON.parse(readFileSync(join(here, '..', name), 'utf8'))));
const errors = check(text);
errors.forEach((error) => console.error(describe(error)));
// A change that breaks the types must be noticed, or this check is worth nothing.
const broken = check(text.replaceAll('"graphMode":"none"', '"graphMode":"nothing"'));
if (broken.length <= errors.length) {
  console.error('an unknown graphMode goes unnoticed');
  process.exit(1);
}
console.log(`${files.length} dashboards, ${panels} panels, ${errors.length} errors`);
process.exit(errors.length || files.length === 0 ? 1 : 0);
