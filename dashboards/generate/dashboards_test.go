package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// What these tests leave to rules/lint: that queries name series and labels that exist, and where links of panels lead.

const (
	jsonDir     = ".."
	repository  = "../.."
	emptyReason = "../empty-by-nature.json"
)

func TestMain(m *testing.M) {
	plugins.RegisterDefaultPlugins()
	os.Exit(m.Run())
}

// committed are the dashboards as the repository has them, which is what people import.
func committed(t *testing.T) map[string]dashboard.Dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(jsonDir, "iceberg-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]dashboard.Dashboard{}
	for _, file := range files {
		var d dashboard.Dashboard
		if err := json.Unmarshal(read(t, file), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	if len(all) != 3 {
		t.Fatalf("%d dashboards, want 3", len(all))
	}
	return all
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func panels(d dashboard.Dashboard) []dashboard.Panel {
	var all []dashboard.Panel
	for _, p := range d.Panels {
		if p.Panel != nil {
			all = append(all, *p.Panel)
		}
	}
	return all
}

// tree is a panel or target as plain JSON, for checks that do not depend on its type.
func tree(t *testing.T, value any) map[string]any {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(content, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCommittedDashboardsAreGenerated(t *testing.T) {
	all, err := dashboards()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		want, err := encode(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(jsonDir, fileName(d))); string(got) != string(want) {
			t.Errorf("%s differs from what the code makes: run `go run . ..`", fileName(d))
		}
	}
}

func TestStrictParsing(t *testing.T) {
	for name := range committed(t) {
		var d dashboard.Dashboard
		err := d.UnmarshalJSONStrict(read(t, filepath.Join(jsonDir, name+".json")))
		// The SDK gives an error without text where there is none.
		if err != nil && err.Error() != "" {
			t.Errorf("%s: %v", name, err)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDashboards(t *testing.T) {
	for name, d := range committed(t) {
		if *d.Uid != name {
			t.Errorf("%s has the uid %q", name, *d.Uid)
		}
		if d.Id != nil {
			t.Errorf("%s has an id, which is of one Grafana server only", name)
		}
		if d.Title == nil || d.Description == nil || *d.Title == "" || *d.Description == "" {
			t.Errorf("%s lacks a title or a description", name)
		}
		var variables []string
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
			if v.Description == nil || v.Label == nil {
				t.Errorf("%s: the variable %s lacks a label or a description", name, v.Name)
			}
		}
		for _, want := range []string{"datasource", "catalog", "namespace", "table"} {
			if !slices.Contains(variables, want) {
				t.Errorf("%s has no variable %s", name, want)
			}
		}
		content := string(read(t, filepath.Join(jsonDir, name+".json")))
		for _, v := range variables {
			if !strings.Contains(content, "$"+v) && !strings.Contains(content, "${"+v) {
				t.Errorf("%s: nothing uses the variable %s", name, v)
			}
		}
		for _, link := range regexp.MustCompile(regexp.QuoteMeta(runbooks)+`([\w-]+\.md)`).FindAllStringSubmatch(content, -1) {
			if _, err := os.Stat(filepath.Join(repository, "docs/runbooks", link[1])); err != nil {
				t.Errorf("%s links to a runbook that is not there: %v", name, err)
			}
		}
	}
}

// The panel types in use. All are part of Grafana 11 and not deprecated there or later.
var panelTypes = []string{"bargauge", "heatmap", "stat", "table", "timeseries"}

var knownUnits = []string{
	units.BytesIEC, units.BytesPerSecondIEC, units.DateTimeFromNow, units.Dollars, units.OpsPerSecond,
	units.PercentUnit, units.Seconds, units.Short, times,
}

func TestPanels(t *testing.T) {
	for name, d := range committed(t) {
		ids := map[uint32]bool{}
		titles := map[string]bool{}
		for _, p := range d.Panels {
			var id uint32
			if p.Panel != nil {
				id = *p.Panel.Id
			} else {
				id = p.RowPanel.Id
			}
			if id == 0 || ids[id] {
				t.Errorf("%s: the id %d is 0 or not unique", name, id)
			}
			ids[id] = true
		}
		for _, p := range panels(d) {
			if p.Title == nil || *p.Title == "" || titles[*p.Title] {
				t.Fatalf("%s: panel %d has no title, or that of another", name, *p.Id)
			}
			titles[*p.Title] = true
			where := name + ": " + *p.Title
			if !slices.Contains(panelTypes, p.Type) {
				t.Errorf("%s: unknown panel type %q", where, p.Type)
			}
			if p.Description == nil || *p.Description == "" {
				t.Errorf("%s has no description", where)
			}
			if p.FieldConfig.Defaults.Unit == nil || !slices.Contains(knownUnits, *p.FieldConfig.Defaults.Unit) {
				t.Errorf("%s has no unit, or an unknown one", where)
			}
			for _, o := range p.FieldConfig.Overrides {
				if len(o.Properties) == 0 {
					t.Errorf("%s has an override of %v without properties, which Grafana cannot read", where, o.Matcher.Options)
				}
				for _, property := range o.Properties {
					if property.Id == "unit" && !slices.Contains(knownUnits, property.Value.(string)) {
						t.Errorf("%s has the unknown unit %v", where, property.Value)
					}
				}
			}
			checkSource(t, where, tree(t, p))
			if len(p.Targets) == 0 {
				t.Errorf("%s has no query", where)
			}
			refs := map[string]bool{}
			for _, target := range p.Targets {
				target := tree(t, target)
				ref, _ := target["refId"].(string)
				if ref == "" || refs[ref] {
					t.Errorf("%s: the refId %q is empty or not unique", where, ref)
				}
				refs[ref] = true
				checkSource(t, where+", "+ref, target)
				if expr, _ := target["expr"].(string); expr == "" {
					t.Errorf("%s, %s has no expression", where, ref)
				}
				if target["instant"] == target["range"] {
					t.Errorf("%s, %s must be either instant or range", where, ref)
				}
			}
			checkColumns(t, where, p, len(p.Targets))
		}
		for _, a := range d.Annotations.List {
			checkSource(t, name+": "+a.Name, tree(t, a))
			checkSource(t, name+": "+a.Name, tree(t, a.Target))
		}
	}
}

func checkSource(t *testing.T, where string, m map[string]any) {
	t.Helper()
	source, _ := m["datasource"].(map[string]any)
	if source["uid"] != "${datasource}" || source["type"] != "prometheus" {
		t.Errorf("%s has the data source %v and not the one of the variable", where, source)
	}
}

// checkColumns finds columns of a table that no query fills.
func checkColumns(t *testing.T, where string, p dashboard.Panel, queries int) {
	t.Helper()
	for _, transform := range p.Transformations {
		if transform.Id != "organize" {
			continue
		}
		for field := range transform.Options.(map[string]any)["renameByName"].(map[string]any) {
			if ref, isValue := strings.CutPrefix(field, "Value #"); isValue && int(ref[0]-'A') >= queries {
				t.Errorf("%s shows %s, which no query gives", where, field)
			}
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	for name, d := range committed(t) {
		taken := map[[2]uint32]string{}
		place := func(title string, at dashboard.GridPos) {
			if at.X+at.W > gridWidth {
				t.Errorf("%s: %s leaves the grid", name, title)
			}
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other := taken[[2]uint32{x, y}]; other != "" {
						t.Fatalf("%s: %s lies over %s", name, title, other)
					}
					taken[[2]uint32{x, y}] = title
				}
			}
		}
		for _, p := range d.Panels {
			if p.Panel != nil {
				place(*p.Panel.Title, *p.Panel.GridPos)
			} else {
				place(*p.RowPanel.Title, *p.RowPanel.GridPos)
			}
		}
	}
}

// enums are the values that Grafana knows where the SDK's strict parsing takes any text. A key is the end of a path.
var enums = map[string][]string{
	"cellHeight":             {"sm", "md", "lg"},
	"cellOptions.mode":       {"basic", "gradient"},
	"cellOptions.type":       {"auto", "color-background", "color-text", "gauge"},
	"color.mode":             {"fixed", "palette-classic", "scheme", "thresholds"},
	"color.scheme":           {"Oranges"},
	"colorMode":              {"background", "none", "value"},
	"format":                 {"heatmap", "table", "time_series"},
	"graphMode":              {"area", "none"},
	"justifyMode":            {"auto", "center"},
	"legend.displayMode":     {"list", "table"},
	"legend.placement":       {"bottom", "right"},
	"lineStyle.fill":         {"dash", "solid"},
	"mappings.type":          {"special", "value"},
	"mappings.options.match": {"null+nan"},
	"matcher.id":             {"byName", "byType"},
	"namePlacement":          {"left"},
	"options.displayMode":    {"basic"},
	"orientation":            {"horizontal", "vertical"},
	"reduceOptions.calcs":    {"lastNotNull"},
	"rowsFrame.layout":       {"auto", "ge", "le"},
	"scaleDistribution.type": {"linear", "log"},
	"showPoints":             {"auto", "never"},
	"stacking.mode":          {"none", "normal"},
	"textMode":               {"value", "value_and_name"},
	"thresholds.mode":        {"absolute"},
	"tooltip.mode":           {"multi", "single"},
	"tooltip.sort":           {"desc", "none"},
	"transformations.id":     {"merge", "organize"},
	"valueMode":              {"color", "text"},
	"properties.id": {
		"color", "custom.cellOptions", "custom.fillOpacity", "custom.filterable", "custom.lineStyle", "custom.lineWidth", "custom.width",
		"decimals", "displayName", "max", "min", "links", "mappings", "thresholds", "unit",
	},
}

func TestEnums(t *testing.T) {
	seen := map[string]bool{}
	for name, d := range committed(t) {
		for _, p := range panels(d) {
			walk("", tree(t, p), func(path, value string) {
				for end, allowed := range enums {
					if path != end && !strings.HasSuffix(path, "."+end) {
						continue
					}
					seen[end] = true
					if !slices.Contains(allowed, value) {
						t.Errorf("%s: %s: %s is %q", name, *p.Title, path, value)
					}
				}
			})
		}
	}
	for end := range enums {
		if !seen[end] {
			t.Errorf("no panel has %s, so its values are not checked", end)
		}
	}
}

// walk visits every text, with the keys that lead to it. The value of an override stands under the
// name of its property.
func walk(path string, value any, visit func(path, value string)) {
	switch value := value.(type) {
	case string:
		visit(path, value)
	case []any:
		for _, item := range value {
			walk(path, item, visit)
		}
	case map[string]any:
		for key, item := range value {
			below := key
			if path != "" {
				below = path + "." + key
			}
			if property, ok := value["id"].(string); ok && key == "value" {
				below = path + "." + property
			}
			walk(below, item, visit)
		}
	}
}

// Queries that may return nothing are named with a reason, and only such that exist.
func TestEmptyByNature(t *testing.T) {
	var reasons map[string]map[string]map[string]string
	if err := json.Unmarshal(read(t, emptyReason), &reasons); err != nil {
		t.Fatal(err)
	}
	all := committed(t)
	for uid, byTitle := range reasons {
		refs := map[string]map[string]bool{}
		for _, p := range panels(all[uid]) {
			refs[*p.Title] = map[string]bool{}
			for _, target := range p.Targets {
				refs[*p.Title][tree(t, target)["refId"].(string)] = true
			}
		}
		for _, a := range all[uid].Annotations.List {
			refs[a.Name] = map[string]bool{"Anno": true}
		}
		for title, byRef := range byTitle {
			for ref, reason := range byRef {
				if !refs[title][ref] {
					t.Errorf("%s has no query %s, %s", uid, title, ref)
				}
				if reason == "" {
					t.Errorf("%s: %s, %s has no reason to be empty", uid, title, ref)
				}
			}
		}
	}
}
