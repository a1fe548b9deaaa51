// Draws a dashboard with the components of @grafana/ui. `window.scene` holds the dashboard, the
// variables and the answers of Prometheus.
// By `require`, since the modules of @grafana/ui import old packages in a way that esbuild reads otherwise.
const { createRoot } = require('react-dom/client');
const {
  applyFieldOverrides,
  booleanOverrideProcessor,
  createTheme,
  dataLinksOverrideProcessor,
  dateTime,
  displayNameOverrideProcessor,
  FieldConfigOptionsRegistry,
  FieldType,
  getDisplayProcessor,
  getDisplayValueAlignmentFactors,
  getFieldDisplayValues,
  identityOverrideProcessor,
  standardTransformers,
  standardTransformersRegistry,
  ThemeContext,
  toDataFrame,
  transformDataFrame,
} = require('@grafana/data');
const { BarGauge, BigValue, GlobalStyles, PanelChrome, Table, TimeSeries, VizRepeater } = require('@grafana/ui');

const scene = window.scene;
const theme = createTheme({ colors: { mode: 'dark' } });
const timeZone = 'utc';
const cell = { height: 30, gap: 8 };
const timeRange = {
  from: dateTime(scene.from * 1000),
  to: dateTime(scene.to * 1000),
  raw: { from: dateTime(scene.from * 1000), to: dateTime(scene.to * 1000) },
};

standardTransformersRegistry.setInit(() =>
  [standardTransformers.mergeTransformer, standardTransformers.organizeFieldsTransformer].map((transformation) => ({
    id: transformation.id,
    name: transformation.name,
    transformation: async () => transformation,
    editor: () => null,
  }))
);

const processors = {
  displayName: displayNameOverrideProcessor,
  links: dataLinksOverrideProcessor,
  'custom.filterable': booleanOverrideProcessor,
};

// The options that fields may have, without the editors that Grafana has for them.
const registry = new FieldConfigOptionsRegistry(() =>
  [
    'unit decimals min max mappings thresholds color noValue displayName links'.split(' '),
    ('custom.width custom.cellOptions custom.filterable custom.align custom.inspect custom.fillOpacity custom.lineStyle custom.lineWidth ' +
      'custom.showPoints custom.stacking custom.scaleDistribution custom.spanNulls custom.hideFrom').split(' '),
  ]
    .flat()
    .map((id) => ({
      id,
      name: id,
      path: id.replace(/^custom\./, ''),
      isCustom: id.startsWith('custom.'),
      process: processors[id] ?? identityOverrideProcessor,
      shouldApply: () => true,
      editor: () => null,
      override: () => null,
    }))
);

function replaceVariables(text) {
  return text.replace(/\$\{?(\w+)[^}]*\}?/g, (whole, name) => scene.variables[name] ?? whole);
}

function legend(format, labels) {
  return format.replace(/\{\{(\w+)\}\}/g, (_, name) => labels[name] ?? '');
}

// The data frames that Grafana makes of an answer of Prometheus.
function frames(target, answer, many) {
  const refId = target.refId;
  if (target.format === 'table') {
    const names = [...new Set(answer.flatMap((series) => Object.keys(series.metric)))].sort();
    if (answer.length === 0) {
      return [];
    }
    return [
      toDataFrame({
        refId,
        fields: [
          { name: 'Time', type: FieldType.time, values: answer.map(({ value }) => value[0] * 1000) },
          ...names.map((name) => ({ name, type: FieldType.string, values: answer.map(({ metric }) => metric[name] ?? '') })),
          { name: many ? `Value #${refId}` : 'Value', type: FieldType.number, values: answer.map(({ value }) => Number(value[1])) },
        ],
      }),
    ];
  }
  if (target.format === 'heatmap') {
    return heatmapFrames(refId, answer);
  }
  return answer.map((series) => {
    const points = pointsOf(series);
    return toDataFrame({
      refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: points.map(([time]) => time * 1000) },
        {
          name: 'Value',
          type: FieldType.number,
          labels: series.metric,
          config: { displayNameFromDS: legend(target.legendFormat, series.metric) },
          values: points.map(([, value]) => value),
        },
      ],
    });
  });
}

// Points that are missing are gaps, so every series gets the same times.
function pointsOf(series) {
  if (series.value) {
    return [[series.value[0], Number(series.value[1])]];
  }
  const known = new Map(series.values.map(([time, value]) => [Math.round(time), Number(value)]));
  const points = [];
  for (let time = scene.from; time <= scene.to; time += scene.step) {
    points.push([time, known.get(time) ?? null]);
  }
  return points;
}

// Prometheus counts buckets cumulatively; Grafana shows what each one adds.
function heatmapFrames(refId, answer) {
  const bounds = [...answer].sort((a, b) => upper(a) - upper(b));
  const points = bounds.map(pointsOf);
  if (points.length === 0) {
    return [];
  }
  return [
    toDataFrame({
      refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: points[0].map(([time]) => time * 1000) },
        ...bounds.map((series, i) => ({
          name: series.metric.le,
          type: FieldType.number,
          values: points[i].map(([, value], t) => (value === null ? null : value - (i > 0 ? points[i - 1][t][1] : 0))),
        })),
      ],
    }),
  ];
}

function upper(series) {
  return series.metric.le === '+Inf' ? Infinity : Number(series.metric.le);
}

async function dataOf(panel, answers) {
  let data = panel.targets.flatMap((target, i) => frames(target, answers[i], panel.targets.length > 1));
  if (panel.transformations?.length) {
    data = await new Promise((resolve) => transformDataFrame(panel.transformations, data).subscribe(resolve));
  }
  return applyFieldOverrides({
    data,
    fieldConfig: panel.fieldConfig,
    replaceVariables,
    theme,
    timeZone,
    fieldConfigRegistry: registry,
  });
}

function Values({ panel, data, width, height, render }) {
  const options = panel.options;
  const getValues = () =>
    getFieldDisplayValues({ fieldConfig: panel.fieldConfig, reduceOptions: options.reduceOptions, replaceVariables, theme, data, timeZone });
  return (
    <VizRepeater
      getValues={getValues}
      getAlignmentFactors={getDisplayValueAlignmentFactors}
      renderValue={render}
      width={width}
      height={height}
      source={data}
      itemSpacing={options.displayMode ? 8 : 3}
      renderCounter={0}
      autoGrid={true}
      orientation={options.orientation}
      minVizHeight={16}
      maxVizHeight={300}
    />
  );
}

function Stat(props) {
  const options = props.panel.options;
  return (
    <Values
      {...props}
      render={({ value, width, height, count }) => (
        <BigValue
          value={value.display}
          count={count}
          colorMode={options.colorMode}
          graphMode={options.graphMode}
          justifyMode={options.justifyMode}
          text={options.text}
          textMode={options.textMode}
          wideLayout={options.wideLayout}
          width={width}
          height={height}
          theme={theme}
        />
      )}
    />
  );
}

function Bars(props) {
  const options = props.panel.options;
  return (
    <Values
      {...props}
      render={({ value, width, height, orientation, alignmentFactors }) => (
        <BarGauge
          value={value.display}
          field={value.field}
          display={value.view?.getFieldDisplayProcessor(value.colIndex)}
          width={width}
          height={height}
          orientation={orientation}
          theme={theme}
          itemSpacing={8}
          text={options.text}
          displayMode={options.displayMode}
          showUnfilled={options.showUnfilled}
          valueDisplayMode={options.valueMode}
          namePlacement={options.namePlacement}
          alignmentFactors={alignmentFactors}
        />
      )}
    />
  );
}

// A dashed line for each annotation, as Grafana draws it.
function drawAnnotations(config) {
  config.addHook('draw', (plot) => {
    for (const { time, color } of scene.annotations) {
      const x = plot.valToPos(time * 1000, 'x', true);
      if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) {
        continue;
      }
      plot.ctx.save();
      plot.ctx.strokeStyle = theme.visualization.getColorByName(color);
      plot.ctx.fillStyle = plot.ctx.strokeStyle;
      plot.ctx.setLineDash([4, 4]);
      plot.ctx.lineWidth = 1.5;
      plot.ctx.beginPath();
      plot.ctx.moveTo(x, plot.bbox.top);
      plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
      plot.ctx.stroke();
      plot.ctx.beginPath();
      plot.ctx.moveTo(x - 5, plot.bbox.top + plot.bbox.height + 7);
      plot.ctx.lineTo(x + 5, plot.bbox.top + plot.bbox.height + 7);
      plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
      plot.ctx.fill();
      plot.ctx.restore();
    }
  });
  return null;
}

function Graph({ panel, data, width, height }) {
  // Grafana numbers the series of a panel, which gives them their colours.
  let index = 0;
  for (const frame of data) {
    for (const field of frame.fields) {
      if (field.type === FieldType.number) {
        field.state = { ...field.state, seriesIndex: index++ };
        field.display = getDisplayProcessor({ field, theme, timeZone });
      }
    }
  }
  return (
    <TimeSeries
      frames={data}
      structureRev={1}
      width={width}
      height={height}
      timeRange={timeRange}
      timeZone={timeZone}
      legend={panel.options.legend}
      options={panel.options}
    >
      {drawAnnotations}
    </TimeSeries>
  );
}

function Grid({ panel, data, width, height }) {
  return (
    <Table
      data={data[0]}
      width={width}
      height={height}
      initialSortBy={panel.options.sortBy}
      showTypeIcons={panel.options.showTypeIcons}
      cellHeight={panel.options.cellHeight}
      fieldConfig={panel.fieldConfig}
      timeRange={timeRange}
    />
  );
}

// Grafana's heatmap is not among its libraries, so this one is drawn here.
function Heatmap({ data, width, height }) {
  const [time, ...rows] = data[0].fields;
  const margin = { left: 70, bottom: 46, top: 4, right: 8 };
  const plot = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const most = Math.max(...rows.flatMap((row) => row.values));
  const size = { width: plot.width / time.values.length, height: plot.height / rows.length };
  const format = getDisplayProcessor({ field: { type: FieldType.number, config: { unit: 'bytes' } }, theme });
  const count = getDisplayProcessor({ field: { type: FieldType.number, config: { unit: 'short' } }, theme });
  const text = { fill: theme.colors.text.primary, fontSize: 12 };
  const write = ({ text, suffix }) => text + (suffix ?? '');
  const shade = (value) => `rgba(255, 152, 48, ${0.08 + 0.92 * Math.sqrt(value / most)})`;
  const day = 86400;
  const days = [];
  for (let t = Math.ceil(scene.from / day) * day; t < scene.to; t += day) {
    days.push(t);
  }
  return (
    <svg width={width} height={height} style={{ display: 'block' }}>
      {rows.map((row, r) =>
        row.values.map((value, t) =>
          value > 0 ? (
            <rect
              key={`${r}/${t}`}
              x={margin.left + t * size.width}
              y={margin.top + (rows.length - 1 - r) * size.height + 0.5}
              width={size.width + 0.3}
              height={size.height - 1}
              fill={shade(value)}
            />
          ) : null
        )
      )}
      {rows.map((row, r) => (
        <text key={r} x={margin.left - 8} y={margin.top + (rows.length - 1 - r) * size.height + 4} textAnchor="end" {...text}>
          {row.name === '+Inf' ? '+Inf' : write(format(Number(row.name)))}
        </text>
      ))}
      {days.map((t) => (
        <text key={t} x={margin.left + ((t - scene.from) / (scene.to - scene.from)) * plot.width} y={height - margin.bottom + 16} textAnchor="middle" {...text}>
          {dateTime(t * 1000).utc().format('MM/DD')}
        </text>
      ))}
      <defs>
        <linearGradient id="shades">
          {[0, 0.25, 0.5, 0.75, 1].map((share) => (
            <stop key={share} offset={share} stopColor={shade(share * most)} />
          ))}
        </linearGradient>
      </defs>
      <rect x={margin.left} y={height - 20} width={260} height={8} fill="url(#shades)" />
      <text x={margin.left} y={height - 1} {...text} fontSize={11}>1</text>
      <text x={margin.left + 260} y={height - 1} textAnchor="end" {...text} fontSize={11}>{write(count(most))}</text>
    </svg>
  );
}

function NoData({ width, height }) {
  return (
    <div style={{ width, height, display: 'flex', alignItems: 'center', justifyContent: 'center', color: theme.colors.text.secondary }}>
      No data
    </div>
  );
}

const kinds = { stat: Stat, bargauge: Bars, timeseries: Graph, table: Grid, heatmap: Heatmap };

function box({ x, y, w, h }) {
  const unit = (scene.width + cell.gap) / 24;
  return {
    left: x * unit,
    top: y * (cell.height + cell.gap),
    width: w * unit - cell.gap,
    height: h * (cell.height + cell.gap) - cell.gap,
  };
}

function Panel({ panel, data }) {
  const place = box(panel.gridPos);
  if (panel.type === 'row') {
    return (
      <div style={{ position: 'absolute', ...place, display: 'flex', alignItems: 'center', fontSize: 18, fontWeight: 500 }}>
        <span style={{ color: theme.colors.text.secondary, marginRight: 8 }}>⌄</span>
        {panel.title}
      </div>
    );
  }
  // A stat shows its dash where there is no data; the other panels say so.
  const empty = !data.some((frame) => frame.length > 0) && panel.type !== 'stat';
  const Kind = empty ? NoData : kinds[panel.type];
  return (
    <div style={{ position: 'absolute', ...place }}>
      <PanelChrome title={panel.title} description={panel.description} width={place.width} height={place.height}>
        {(width, height) => <Kind panel={panel} data={data} width={width} height={height} />}
      </PanelChrome>
    </div>
  );
}

function Header() {
  return (
    <div style={{ display: 'flex', flexWrap: 'wrap', gap: 8, alignItems: 'center', marginBottom: 16 }}>
      <span style={{ fontSize: 20, fontWeight: 500, marginRight: 16 }}>{scene.dashboard.title}</span>
      {scene.dashboard.templating.list.map((variable) => (
        <span key={variable.name} style={{ display: 'flex', height: 32, lineHeight: '30px', border: `1px solid ${theme.colors.border.medium}`, borderRadius: 2 }}>
          <span style={{ padding: '0 8px', background: theme.colors.background.secondary, fontSize: 12, fontWeight: 500 }}>{variable.label}</span>
          <span style={{ padding: '0 8px', background: theme.colors.background.canvas }}>{scene.shown[variable.name]}</span>
        </span>
      ))}
      {scene.dashboard.annotations.list?.map((annotation) => (
        <span key={annotation.name} style={{ color: theme.visualization.getColorByName(annotation.iconColor), padding: '0 4px' }}>
          ▲ <span style={{ color: theme.colors.text.primary }}>{annotation.name}</span>
        </span>
      ))}
      <span style={{ flex: 1 }} />
      {scene.dashboard.links.map((link) => (
        <span key={link.title} style={{ padding: '0 8px', lineHeight: '30px', background: theme.colors.secondary.main, borderRadius: 2 }}>{link.title}</span>
      ))}
      <span style={{ padding: '0 8px', lineHeight: '30px', border: `1px solid ${theme.colors.border.medium}`, borderRadius: 2 }}>
        {scene.dashboard.time.from} to {scene.dashboard.time.to}
      </span>
    </div>
  );
}

async function main() {
  const panels = [];
  for (const panel of scene.dashboard.panels) {
    panels.push(<Panel key={panel.id} panel={panel} data={panel.targets ? await dataOf(panel, scene.answers[panel.id]) : []} />);
  }
  const bottom = Math.max(...scene.dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  createRoot(document.getElementById('root')).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div style={{ width: scene.width, margin: 16 }}>
        <Header />
        <div style={{ position: 'relative', height: bottom * (cell.height + cell.gap) }}>{panels}</div>
      </div>
    </ThemeContext.Provider>
  );
}

main().catch((error) => {
  document.body.textContent = error.stack;
});
