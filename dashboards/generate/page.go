package main

import (
	"math"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

const (
	fleetUID    = "iceberg-fleet"
	tableUID    = "iceberg-table"
	exporterUID = "iceberg-exporter"

	// The grid of a dashboard is this many columns wide.
	gridWidth uint32 = 24

	// The schema of Grafana 11.0. Newer versions migrate it when they load it.
	schemaVersion = 39

	documents = "https://github.com/iceberg-exporter/iceberg_exporter/blob/main/docs/"
	runbooks  = documents + "runbooks/"
)

// A page is one dashboard: rows of panels, which flow from left to right and fill gaps.
type page struct {
	uid, title, about string
	from, refresh     string
	variables         []dashboard.VariableModel
	annotations       []dashboard.AnnotationQuery
	rows              []row
}

// A row without a title has no heading; only the first one of a page does without.
type row struct {
	title  string
	panels []panel
}

func (p page) build() (dashboard.Dashboard, error) {
	builder := dashboard.NewDashboardBuilder(p.title).
		Uid(p.uid).
		Description(p.about).
		Tags([]string{"iceberg"}).
		Editable().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Time(p.from, "now").
		Refresh(p.refresh)
	d, err := builder.Build()
	if err != nil {
		return d, err
	}
	d.SchemaVersion = schemaVersion
	d.Links = p.links()
	d.Templating.List = p.variables
	d.Annotations.List = p.annotations

	var id uint32
	var place layout
	for _, r := range p.rows {
		if r.title != "" {
			id++
			heading := dashboard.NewRowPanel()
			heading.Id = id
			heading.Title = &r.title
			heading.GridPos = new(place.next(gridWidth, 1))
			d.Panels = append(d.Panels, dashboard.PanelOrRowPanel{RowPanel: heading})
		}
		for _, item := range r.panels {
			id++
			built, err := item.build(id, place.next(item.width, item.height))
			if err != nil {
				return d, err
			}
			d.Panels = append(d.Panels, dashboard.PanelOrRowPanel{Panel: &built})
		}
	}
	return d, nil
}

// A layout knows how far down each column of the grid is filled.
type layout [gridWidth]uint32

// next finds the highest place for a panel, and the leftmost of those.
func (l *layout) next(width, height uint32) dashboard.GridPos {
	at := dashboard.GridPos{W: width, H: height, Y: math.MaxUint32}
	for x := range gridWidth - width + 1 {
		if y := slices.Max(l[x : x+width]); y < at.Y {
			at.X, at.Y = x, y
		}
	}
	for x := at.X; x < at.X+width; x++ {
		l[x] = at.Y + height
	}
	return at
}

// links lead to the other two dashboards. They keep the time and the data source but not the other
// variables: "All" tables of a fleet mean nothing where one table is shown.
func (p page) links() []dashboard.DashboardLink {
	var links []dashboard.DashboardLink
	for _, other := range []struct{ uid, title string }{
		{fleetUID, "Iceberg fleet"},
		{tableUID, "Iceberg table"},
		{exporterUID, "Iceberg exporter"},
	} {
		if other.uid == p.uid {
			continue
		}
		link := dashboard.NewDashboardLink()
		link.Type = dashboard.DashboardLinkTypeLink
		link.Title = other.title
		link.Icon = "dashboard"
		link.Url = new("/d/" + other.uid + "?${datasource:queryparam}")
		link.KeepTime = true
		link.Placement = nil
		links = append(links, *link)
	}
	link := dashboard.NewDashboardLink()
	link.Type = dashboard.DashboardLinkTypeLink
	link.Title = "Runbooks"
	link.Icon = "doc"
	link.Url = new(runbooks + "README.md")
	link.TargetBlank = true
	link.Placement = nil
	return append(links, *link)
}

// source is the data source that the reader of the dashboard picks.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

func datasourceVariable() dashboard.VariableModel {
	return made(dashboard.NewDatasourceVariableBuilder("datasource").
		Label("Data source").
		Description("The Prometheus that scrapes iceberg_exporter and holds its recording rules.").
		Type("prometheus").
		Build())
}

func labelVariable(name, label, about, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Description(about).
		Datasource(source()).
		Query(dashboard.StringOrMap{String: &query}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalCaseInsensitiveAsc)
}

// made takes off what the SDK presets for intervals alone.
func made(v dashboard.VariableModel, _ error) dashboard.VariableModel {
	v.Auto, v.AutoMin, v.AutoCount = nil, nil, nil
	return v
}

// one lets the reader pick one value.
func one(name, label, about, query string) dashboard.VariableModel {
	return made(labelVariable(name, label, about, query).Build())
}

// many lets the reader pick several values. "All" is `.*` and not a list of the values: a fleet can
// have more tables than fit into a query.
func many(name, label, about, query string) dashboard.VariableModel {
	all := dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
		Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	}
	return made(labelVariable(name, label, about, query).
		Multi(true).
		IncludeAll(true).
		AllValue(".*").
		Current(all).
		Build())
}

// typed lets the reader type a number in.
func typed(name, label, about, preset string) dashboard.VariableModel {
	text := dashboard.StringOrArrayOfString{String: &preset}
	return made(dashboard.NewTextBoxVariableBuilder(name).
		Label(label).
		Description(about).
		DefaultValue(dashboard.StringOrMap{String: &preset}).
		Current(dashboard.VariableOption{Selected: new(true), Text: text, Value: text}).
		Build())
}

// mark draws a line at each time that expr, in seconds, gives as its value.
func mark(name, color, text, expr string) dashboard.AnnotationQuery {
	target := prometheus.NewDataqueryBuilder().
		RefId("Anno").
		Datasource(source()).
		Expr(expr + " * 1000").
		Range()
	a, _ := dashboard.NewAnnotationQueryBuilder().
		Name(name).
		Datasource(source()).
		Enable(true).
		IconColor(color).
		Target(target).
		TitleFormat(text).
		UseValueForTime(true).
		Build()
	return a
}
