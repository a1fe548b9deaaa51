package main

import (
	"fmt"
	"strconv"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	tablepanel "github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// times is the unit of a figure over its limit.
const times = "suffix:×"

// A query is one target of a panel. Its name is what the legend or the column shows.
type query struct {
	name string
	expr string
}

// A panel has what panels differ in; build adds what all have.
type panel struct {
	title, about  string
	width, height uint32
	unit          string
	decimals      *float64
	least         *float64
	colors        []dashboard.Threshold
	mappings      []dashboard.ValueMapping
	overrides     []dashboard.DashboardFieldConfigSourceOverrides
	transforms    []dashboard.DataTransformerConfig
	queries       []query
	instant       bool
	format        prometheus.PromQueryFormat
	viz           cog.Builder[dashboard.Panel]
}

func (p panel) build(id uint32, at dashboard.GridPos) (dashboard.Panel, error) {
	built, err := p.viz.Build()
	if err != nil {
		return built, err
	}
	built.Id = &id
	built.GridPos = &at
	built.Title = &p.title
	built.Description = &p.about
	built.Datasource = new(source())
	built.Transformations = p.transforms
	for i, q := range p.queries {
		target, err := q.build(string(rune('A'+i)), p.instant, p.format)
		if err != nil {
			return built, err
		}
		built.Targets = append(built.Targets, target)
	}
	if built.FieldConfig == nil {
		built.FieldConfig = dashboard.NewFieldConfigSource()
	}
	fields := &built.FieldConfig.Defaults
	fields.Unit = &p.unit
	fields.Decimals = p.decimals
	fields.Min = p.least
	fields.NoValue = new("–")
	fields.Mappings = p.mappings
	if p.colors != nil {
		fields.Thresholds = &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: p.colors}
		fields.Color = &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds}
	}
	built.FieldConfig.Overrides = append(built.FieldConfig.Overrides, p.overrides...)
	return built, built.Validate()
}

func (q query) build(ref string, instant bool, format prometheus.PromQueryFormat) (variants.Dataquery, error) {
	target := prometheus.NewDataqueryBuilder().
		RefId(ref).
		Datasource(source()).
		EditorMode(prometheus.QueryEditorModeCode).
		Expr(q.expr).
		LegendFormat(q.name).
		Format(format)
	if instant {
		target.Instant()
	} else {
		target.Range()
	}
	return target.Build()
}

// steps colours values: the first colour from minus infinity, each later one from its limit.
func steps(first string, rest ...dashboard.Threshold) []dashboard.Threshold {
	return append([]dashboard.Threshold{{Color: first}}, rest...)
}

func from(limit float64, color string) dashboard.Threshold {
	return dashboard.Threshold{Value: &limit, Color: color}
}

// The alerts warn at the limit and page at four times the limit. A figure without a limit has no colour.
func limitColors() []dashboard.Threshold {
	return steps("transparent", from(0, "green"), from(1, "orange"), from(4, "red"))
}

// anyIs colours a count of things of which there should be none.
func anyIs(color string) []dashboard.Threshold {
	return steps("green", from(1, color))
}

func mapping(texts map[string]dashboard.ValueMappingResult) []dashboard.ValueMapping {
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: texts}}}
}

// dash is how a table shows that a figure is not there.
func dash() []dashboard.ValueMapping {
	return []dashboard.ValueMapping{{SpecialValueMap: &dashboard.SpecialValueMap{
		Type: dashboard.MappingTypeSpecialValue,
		Options: dashboard.DashboardSpecialValueMapOptions{
			Match:  dashboard.SpecialValueMatchNullAndNan,
			Result: dashboard.ValueMappingResult{Text: new("–"), Color: new("transparent")},
		},
	}}}
}

func upOrDown() []dashboard.ValueMapping {
	return mapping(map[string]dashboard.ValueMappingResult{
		"0": {Text: new("no"), Color: new("red"), Index: new(int32(0))},
		"1": {Text: new("yes"), Color: new("green"), Index: new(int32(1))},
	})
}

// number is a single big figure of the moment.
func number(title, about, unit, expr string) panel {
	p := numbers(title, about, unit, query{title, expr})
	p.viz = p.viz.(*stat.PanelBuilder).
		TextMode(common.BigValueTextModeValue).
		Text(common.NewVizTextDisplayOptionsBuilder())
	return p
}

// numbers shows several figures of the moment, one below the other.
func numbers(title, about, unit string, queries ...query) panel {
	viz := stat.NewPanelBuilder().
		GraphMode(common.BigValueGraphModeNone).
		ColorMode(common.BigValueColorModeValue).
		TextMode(common.BigValueTextModeValueAndName).
		WideLayout(true).
		Orientation(common.VizOrientationHorizontal).
		// Otherwise each name is as large as its length lets it be.
		Text(common.NewVizTextDisplayOptionsBuilder().TitleSize(14).ValueSize(24)).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	return panel{
		title: title, about: about, width: 3, height: 4, unit: unit,
		queries: queries, instant: true, format: prometheus.PromQueryFormatTimeSeries,
		colors: steps("text"),
		viz:    viz,
	}
}

// tile is a number on a background of its colour.
func tile(title, about, unit, expr string, colors []dashboard.Threshold) panel {
	p := number(title, about, unit, expr)
	p.colors = colors
	p.viz = p.viz.(*stat.PanelBuilder).ColorMode(common.BigValueColorModeBackground)
	return p
}

func graph(title, about, unit string, queries ...query) panel {
	return panel{
		title: title, about: about, width: 12, height: 8, unit: unit, least: new(0.0),
		queries: queries, format: prometheus.PromQueryFormatTimeSeries,
		viz: timeseries.NewPanelBuilder().
			ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassic)).
			LineWidth(2).
			FillOpacity(10).
			ShowPoints(common.VisibilityModeNever).
			Legend(common.NewVizLegendOptionsBuilder().
				DisplayMode(common.LegendDisplayModeList).
				Placement(common.LegendPlacementBottom).
				ShowLegend(true).
				Calcs([]string{})).
			Tooltip(common.NewVizTooltipOptionsBuilder().
				Mode(common.TooltipDisplayModeMulti).
				Sort(common.SortOrderDescending)),
	}
}

// ranked lists the series of a graph with their latest values, largest first.
func (p panel) ranked() panel {
	p.viz = p.viz.(*timeseries.PanelBuilder).
		Legend(common.NewVizLegendOptionsBuilder().
			DisplayMode(common.LegendDisplayModeTable).
			Placement(common.LegendPlacementRight).
			ShowLegend(true).
			SortBy("Last *").
			SortDesc(true).
			Calcs([]string{"lastNotNull"}))
	return p
}

func (p panel) stacked() panel {
	p.viz = p.viz.(*timeseries.PanelBuilder).
		FillOpacity(40).
		LineWidth(1).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
	return p
}

// logarithmic spreads values that differ by powers of two. Its axis has no zero.
func (p panel) logarithmic() panel {
	p.least = nil
	p.viz = p.viz.(*timeseries.PanelBuilder).
		FillOpacity(0).
		ScaleDistribution(common.NewScaleDistributionConfigBuilder().Type(common.ScaleDistributionLog).Log(2))
	return p
}

func bars(title, about, unit string, queries ...query) panel {
	return panel{
		title: title, about: about, width: 12, height: 9, unit: unit, least: new(0.0),
		queries: queries, instant: true, format: prometheus.PromQueryFormatTimeSeries,
		colors: steps("blue"),
		viz: bargauge.NewPanelBuilder().
			DisplayMode(common.BarGaugeDisplayModeBasic).
			Orientation(common.VizOrientationHorizontal).
			ValueMode(common.BarGaugeValueModeText).
			NamePlacement(common.BarGaugeNamePlacementLeft).
			ShowUnfilled(false).
			Text(common.NewVizTextDisplayOptionsBuilder().ValueSize(14)).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})),
	}
}

// histogram makes bars of the cumulative buckets of file sizes, whose only label is `le`, and calls
// them by names that people can read.
func (p panel) histogram() panel {
	p.format = prometheus.PromQueryFormatHeatmap
	for _, mebibytes := range []int{1, 4, 8, 16, 32, 64, 128, 256, 512, 1024} {
		le := strconv.FormatFloat(float64(mebibytes<<20), 'g', -1, 64)
		name := fmt.Sprintf("≤ %d MiB", mebibytes)
		if mebibytes == 1024 {
			name = "≤ 1 GiB"
		}
		p = p.series(le, map[string]any{"displayName": name})
	}
	return p.series("+Inf", map[string]any{"displayName": "> 1 GiB"})
}

// buckets shows the histogram expr over time; its labels must be `le` alone.
func buckets(title, about, expr string) panel {
	return panel{
		title: title, about: about, width: 16, height: 9, unit: units.Short,
		queries: []query{{"{{le}}", expr}}, format: prometheus.PromQueryFormatHeatmap,
		viz: heatmap.NewPanelBuilder().
			Calculate(false).
			Color(heatmap.NewHeatmapColorOptionsBuilder().
				Mode(heatmap.HeatmapColorModeScheme).
				Scheme("Oranges").
				Fill("dark-orange").
				Exponent(0.5).
				Steps(64)).
			RowsFrame(heatmap.NewRowsHeatmapOptionsBuilder().Layout(common.HeatmapCellLayoutAuto)).
			CellGap(1).
			CellValues(heatmap.NewCellValuesBuilder().Unit(units.Short)).
			YAxis(heatmap.NewYAxisConfigBuilder().Unit(units.BytesIEC).AxisPlacement(common.AxisPlacementLeft)).
			ShowValue(common.VisibilityModeNever).
			Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).YHistogram(true)).
			ShowLegend(),
	}
}

// A column is a field of a table panel: a label, or the value of the query of that name.
type column struct {
	name     string
	label    string // the label it shows, or empty for a query
	unit     string
	decimals *float64
	width    int
	colors   []dashboard.Threshold
	mappings []dashboard.ValueMapping
	links    []link
	gauge    float64 // where the bar in the cell ends; none if 0
}

type link struct {
	title, url string
	newTab     bool
}

// grid is a table of instant queries that share labels. Labels that no column names are hidden.
// The table starts sorted by the column sortBy, largest first.
func grid(title, about, sortBy string, columns []column, queries ...query) panel {
	rename := map[string]string{}
	order := map[string]int{}
	exclude := map[string]bool{"Time": true}
	for i, c := range columns {
		field := c.label
		if field == "" {
			field = valueField(c.name, queries)
		}
		rename[field] = c.name
		order[field] = i
	}
	p := panel{
		title: title, about: about, width: gridWidth, height: 10, unit: units.Short,
		queries: queries, instant: true, format: prometheus.PromQueryFormatTable,
		transforms: []dashboard.DataTransformerConfig{
			{Id: "merge", Options: map[string]any{}},
			{Id: "organize", Options: map[string]any{
				"excludeByName": exclude,
				"indexByName":   order,
				"renameByName":  rename,
			}},
		},
		viz: tablepanel.NewPanelBuilder().
			CellHeight(common.TableCellHeightSm).
			Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})).
			SortBy(sorted(sortBy, true)),
	}
	for _, c := range columns {
		if o := c.override(); o.Properties != nil {
			p.overrides = append(p.overrides, o)
		}
	}
	return p
}

func sorted(column string, desc bool) []cog.Builder[common.TableSortByFieldState] {
	return []cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(column).Desc(desc)}
}

// ascending sorts a grid by another column, smallest first.
func (p panel) ascending(column string) panel {
	p.viz = p.viz.(*tablepanel.PanelBuilder).SortBy(sorted(column, false))
	return p
}

// hiding leaves fields of a grid out.
func (p panel) hiding(fields ...string) panel {
	exclude := p.transforms[len(p.transforms)-1].Options.(map[string]any)["excludeByName"].(map[string]bool)
	for _, field := range fields {
		exclude[field] = true
	}
	return p
}

// valueField is what Grafana calls the value of a query in a table: with the refId if there are several.
func valueField(name string, queries []query) string {
	for i, q := range queries {
		if q.name == name {
			if len(queries) == 1 {
				return "Value"
			}
			return "Value #" + string(rune('A'+i))
		}
	}
	panic("no query for the column " + name)
}

func (c column) override() dashboard.DashboardFieldConfigSourceOverrides {
	var properties []dashboard.DynamicConfigValue
	set := func(id string, value any) {
		properties = append(properties, dashboard.DynamicConfigValue{Id: id, Value: value})
	}
	if c.unit != "" {
		set("unit", c.unit)
	}
	if c.decimals != nil {
		set("decimals", *c.decimals)
	}
	if c.links != nil {
		// What is worth a visit is worth a filter; elsewhere its button takes the room of the name.
		set("custom.filterable", true)
	}
	if c.width > 0 {
		set("custom.width", c.width)
	}
	if c.mappings != nil {
		set("mappings", c.mappings)
	}
	if c.colors != nil {
		set("thresholds", dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: c.colors})
		set("color", dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds})
	}
	if c.gauge > 0 {
		set("min", 0)
		set("max", c.gauge)
		set("custom.cellOptions", common.TableBarGaugeCellOptions{
			Type:             common.TableCellDisplayModeGauge,
			Mode:             new(common.BarGaugeDisplayModeBasic),
			ValueDisplayMode: new(common.BarGaugeValueModeText),
		})
	} else if c.colors != nil || colored(c.mappings) {
		set("custom.cellOptions", common.TableColoredBackgroundCellOptions{
			Type: common.TableCellDisplayModeColorBackground,
			Mode: new(common.TableCellBackgroundDisplayModeBasic),
		})
	}
	if c.links != nil {
		set("links", dataLinks(c.links))
	}
	return dashboard.DashboardFieldConfigSourceOverrides{
		Matcher:    dashboard.MatcherConfig{Id: "byName", Options: c.name},
		Properties: properties,
	}
}

func colored(mappings []dashboard.ValueMapping) bool {
	for _, m := range mappings {
		if m.ValueMap == nil {
			continue
		}
		for _, result := range m.ValueMap.Options {
			if result.Color != nil {
				return true
			}
		}
	}
	return false
}

func dataLinks(links []link) []map[string]any {
	var all []map[string]any
	for _, l := range links {
		all = append(all, map[string]any{"title": l.title, "url": l.url, "targetBlank": l.newTab})
	}
	return all
}

// series changes one series of a panel, which is known by its name.
func (p panel) series(name string, properties map[string]any) panel {
	p.overrides = append(p.overrides, override("byName", name, properties))
	return p
}

// byState has one colour for each state of files, in all graphs.
func (p panel) byState() panel {
	colors := map[string]string{"live": "green", "historical": "yellow", "metadata": "purple", "recent": "blue", "orphan": "red", "hidden": "text"}
	for _, state := range sortedKeys(colors) {
		p = p.series(state, solid(colors[state]))
	}
	return p
}

// each gives every value of a panel a link.
func (p panel) each(l link) panel {
	p.overrides = append(p.overrides, override("byType", "number", map[string]any{"links": dataLinks([]link{l})}))
	return p
}

func override(matcher, options string, properties map[string]any) dashboard.DashboardFieldConfigSourceOverrides {
	o := dashboard.DashboardFieldConfigSourceOverrides{Matcher: dashboard.MatcherConfig{Id: matcher, Options: options}}
	for _, id := range sortedKeys(properties) {
		o.Properties = append(o.Properties, dashboard.DynamicConfigValue{Id: id, Value: properties[id]})
	}
	return o
}

// dashed is how a graph draws what is a limit or a wish and not a measurement.
func dashed(color string) map[string]any {
	return map[string]any{
		"color":              dashboard.FieldColor{Mode: dashboard.FieldColorModeIdFixed, FixedColor: &color},
		"custom.fillOpacity": 0,
		"custom.lineStyle":   common.LineStyle{Fill: new(common.LineStyleFillDash), Dash: []float64{8, 6}},
		"custom.lineWidth":   1,
	}
}

func solid(color string) map[string]any {
	return map[string]any{"color": dashboard.FieldColor{Mode: dashboard.FieldColorModeIdFixed, FixedColor: &color}}
}

func (p panel) size(width, height uint32) panel {
	p.width, p.height = width, height
	return p
}

func (p panel) precise(decimals float64) panel {
	p.decimals = &decimals
	return p
}

// runbook ends a description with a link to what to do.
func runbook(alert string) string {
	return " [Runbook](" + runbooks + alert + ".md)"
}
