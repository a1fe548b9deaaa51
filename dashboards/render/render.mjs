// Makes pictures of the dashboards: asks a Prometheus server for every panel, draws the page with
// Grafana's libraries and takes a picture of it with Chromium.
//
//   node render.mjs http://localhost:9090 DIRECTORY [dashboard/]variable=value ...
//
// `from=now-1h` shows another time than the dashboard does by itself.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const width = 1600;

function secondsOf(from) {
  const [, count, unit] = from.match(/^now-(\d+)([mhd])$/);
  return count * { m: 60, h: 3600, d: 86400 }[unit];
}

async function ask(server, path, parameters) {
  const response = await fetch(server + path, { method: 'POST', body: new URLSearchParams(parameters) });
  const answer = await response.json();
  if (answer.status !== 'success') {
    throw new Error(`${answer.error}\n${parameters.query}`);
  }
  return answer.data.result;
}

function substitute(expr, values) {
  return expr.replace(/\$\{?(\w+)\}?/g, (_, name) => values[name]);
}

async function sceneOf(dashboard, server, given, now) {
  dashboard.time.from = given.from ?? dashboard.time.from;
  const span = secondsOf(dashboard.time.from);
  // As many steps as a graph has room for.
  const step = Math.ceil(span / 360);
  const to = Math.floor(now);
  const from = to - step * Math.floor(span / step);
  const values = { __rate_interval: `${Math.max(60, 4 * step)}s`, __interval: `${step}s` };
  const shown = { datasource: 'Prometheus' };
  for (const { type, name, query, allValue, includeAll } of dashboard.templating.list) {
    if (type === 'textbox') {
      values[name] = shown[name] = given[name] ?? query;
    }
    if (type !== 'query') {
      continue;
    }
    const [, selector, label] = query.match(/^label_values\((.+), (\w+)\)$/);
    const series = await ask(server, '/api/v1/query', { query: `group by (${label}) (${substitute(selector, values)})`, time: to });
    shown[name] = given[name] ?? (includeAll ? 'All' : series.map(({ metric }) => metric[label]).sort()[0]);
    values[name] = shown[name] === 'All' ? allValue : shown[name];
  }
  const range = (expr) => ask(server, '/api/v1/query_range', { query: substitute(expr, values), start: from, end: to, step });
  const instant = (expr) => ask(server, '/api/v1/query', { query: substitute(expr, values), time: to });

  const answers = {};
  for (const panel of dashboard.panels) {
    if (panel.targets) {
      answers[panel.id] = [];
      for (const target of panel.targets) {
        answers[panel.id].push(await (target.instant ? instant : range)(target.expr));
      }
    }
  }
  const annotations = [];
  for (const { target, iconColor } of dashboard.annotations.list ?? []) {
    for (const { values: points } of await range(target.expr)) {
      for (const time of new Set(points.map(([, milliseconds]) => milliseconds / 1000))) {
        annotations.push({ time, color: iconColor });
      }
    }
  }
  return { dashboard, variables: values, shown, answers, annotations, from, to, step, width };
}

function picture(page, file, height, scratch) {
  execFileSync(
    'chromium',
    [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--hide-scrollbars', '--allow-file-access-from-files', `--user-data-dir=${join(scratch, 'chromium')}`,
      '--virtual-time-budget=10000', `--window-size=${width + 32},${height}`, `--screenshot=${file}`, `file://${page}`,
    ],
    { stdio: 'ignore' }
  );
}

async function main(server, directory, ...settings) {
  const bundle = await build({
    entryPoints: [join(here, 'page.jsx')],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    jsx: 'automatic',
    platform: 'browser',
    mainFields: ['browser', 'module', 'main'],
    external: ['stream'], // for reading files, which the page does not
    define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
    loader: { '.svg': 'dataurl', '.css': 'empty' },
    logLevel: 'error',
  });
  const script = bundle.outputFiles[0].text.replaceAll('</script', '<\\/script');
  const style = readFileSync(join(here, 'node_modules/uplot/dist/uPlot.min.css'), 'utf8');
  const now = Date.now() / 1000;
  const scratch = mkdtempSync(join(tmpdir(), 'iceberg-render-'));
  // Where the components look for their icons.
  mkdirSync(join(scratch, 'public', 'build'), { recursive: true });
  symlinkSync(join(here, 'node_modules/@grafana/ui/dist/public/img'), join(scratch, 'public', 'build', 'img'));
  try {
    for (const uid of ['iceberg-fleet', 'iceberg-table', 'iceberg-exporter']) {
      const dashboard = JSON.parse(readFileSync(join(here, '..', `${uid}.json`), 'utf8'));
      const given = {};
      for (const setting of settings) {
        const [, only, name, value] = setting.match(/^(?:([\w-]+)\/)?(\w+)=(.*)$/);
        if (!only || only === uid) {
          given[name] = value;
        }
      }
      const scene = await sceneOf(dashboard, server, given, now);
      const data = JSON.stringify(scene).replaceAll('<', '\\u003c');
      const page = join(scratch, `${uid}.html`);
      writeFileSync(page, `<!doctype html><meta charset="utf-8"><style>${style}</style><div id="root"></div><script>window.scene = ${data}</script><script>${script}</script>`);
      const rows = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
      picture(page, join(directory, `${uid}.png`), rows * 38 + 80, scratch);
    }
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

const [server, directory, ...settings] = process.argv.slice(2);
if (!directory) {
  console.error('usage: node render.mjs PROMETHEUS DIRECTORY [dashboard/]variable=value ...');
  process.exit(2);
}
await main(server.replace(/\/$/, ''), directory, ...settings);
