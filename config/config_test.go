package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEmptyFileHasDefaults(t *testing.T) {
	for name, text := range map[string]string{
		"empty":         "",
		"blank":         "\n\n",
		"comment":       "# nothing\n",
		"document mark": "---\n",
		"null":          "null\n",
		"empty mapping": "{}\n",
		"empty fields":  "thresholds:\norphan_scan:\nscrape:\ncatalogs:\n",
	} {
		t.Run(name, func(t *testing.T) {
			if c := parse(t, text); !reflect.DeepEqual(c, defaults()) {
				t.Errorf("got %+v", c)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	compareGolden(t, "defaults.golden.yml", show(t, parse(t, "")))
}

// TestEverySetting reads a file in which no setting has its default, so that a
// setting that is not read cannot hide behind its default.
func TestEverySetting(t *testing.T) {
	c, err := Load("testdata/full.yml")
	if err != nil {
		t.Fatal(err)
	}
	catalog := Catalog{DiscoveryInterval: defaultDiscoveryInterval}
	differ(t, "", reflect.ValueOf(*c), reflect.ValueOf(*defaults()))
	differ(t, "scrape.", reflect.ValueOf(c.Scrape), reflect.ValueOf(defaults().Scrape))
	merged := merge(c.Catalogs)
	differ(t, "catalogs.", reflect.ValueOf(merged), reflect.ValueOf(catalog))
	differ(t, "catalogs.tables.", reflect.ValueOf(merged.Tables[0]), reflect.ValueOf(Table{Settings: c.Settings}))
	compareGolden(t, "full.golden.yml", show(t, c))
}

// merge returns a catalog that has what any of several has: no catalog can have
// every setting.
func merge(catalogs []Catalog) Catalog {
	merged := catalogs[0]
	target := reflect.ValueOf(&merged).Elem()
	for _, c := range catalogs[1:] {
		for i := range target.NumField() {
			if field := target.Field(i); field.IsZero() {
				field.Set(reflect.ValueOf(c).Field(i))
			}
		}
	}
	for _, c := range catalogs {
		if c.Type == Metadata {
			merged.Tables = c.Tables
		}
	}
	return merged
}

// differ fails for every setting that two values have in common.
func differ(t *testing.T, at string, got, unwanted reflect.Value) {
	t.Helper()
	for i := range got.NumField() {
		name, options, _ := strings.Cut(got.Type().Field(i).Tag.Get("yaml"), ",")
		a, b := got.Field(i), unwanted.Field(i)
		switch {
		case options == "inline" || a.Kind() == reflect.Struct && a.NumField() > 0:
			differ(t, at+name+".", a, b)
		case reflect.DeepEqual(a.Interface(), b.Interface()):
			t.Errorf("%s%s is not set, or not to another value than its default", at, name)
		}
	}
}

func TestThresholdsByPublishedName(t *testing.T) {
	values := parse(t, "thresholds: {snapshot_age_seconds: 2h, manifests: null}").Thresholds.Values()
	want := map[string]float64{
		"data_files": 10000, "average_file_size_bytes": 134217728, "small_file_ratio": 0.5, "snapshots": 1000,
		"compaction_age_seconds": 86400, "snapshot_age_seconds": 7200, "delete_file_ratio": 0.3,
		"metadata_bytes": 52428800, "orphan_ratio": 0.25,
	}
	if !maps.Equal(values, want) {
		t.Errorf("got %v, want %v", values, want)
	}
	// Every threshold is published under the name that it is configured by.
	all := Thresholds{}
	fields := reflect.ValueOf(&all).Elem()
	var names []string
	for i := range fields.NumField() {
		fields.Field(i).Set(reflect.New(fields.Field(i).Type().Elem()))
		names = append(names, fields.Type().Field(i).Tag.Get("yaml"))
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(all.Values())); !slices.Equal(got, names) {
		t.Errorf("published are %v, configured %v", got, names)
	}
}

func TestTablesOverrideDefaults(t *testing.T) {
	const tables = `
catalogs:
  - name: c
    type: hadoop
    warehouse: /w
    tables:
      - name: a.plain
      - name: a.few
        thresholds: {data_files: 5}
      - name: a.none
        thresholds: {data_files: null, snapshots: ~, small_file_ratio: }
      - name: a.scanned
        small_file_threshold: 1MiB
        orphan_scan: {enabled: true}
      - name: b.plain
`
	const settings = `
small_file_threshold: 64MiB
thresholds: {data_files: 77, manifests: 8, snapshot_age_seconds: 1h}
orphan_scan: {interval: 2d}
`
	for name, text := range map[string]string{
		"defaults first": settings + tables, "defaults last": tables + settings,
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t, text)
			file := defaults().Settings
			file.SmallFileThreshold = 64 << 20
			file.Thresholds.DataFiles = new(Number(77))
			file.Thresholds.Manifests = new(Number(8))
			file.Thresholds.SnapshotAgeSeconds = new(Duration(time.Hour))
			file.OrphanScan.Interval = Duration(48 * time.Hour)
			few, none, scanned := file, file, file
			few.Thresholds.DataFiles = new(Number(5))
			none.Thresholds.DataFiles, none.Thresholds.Snapshots, none.Thresholds.SmallFileRatio = nil, nil, nil
			scanned.SmallFileThreshold = 1 << 20
			scanned.OrphanScan.Enabled = true
			for i, want := range []Settings{file, few, none, scanned, file} {
				if got := c.Catalogs[0].Tables[i]; !reflect.DeepEqual(got.Settings, want) {
					t.Errorf("%s: got %+v, want %+v", got.Name, got.Settings, want)
				}
			}
			if !reflect.DeepEqual(c.Settings, file) {
				t.Errorf("the defaults became %+v", c.Settings)
			}
		})
	}
}

func TestCatalogWithoutTablesWatchesAll(t *testing.T) {
	for _, tables := range []string{"", "tables: []", "tables:"} {
		c := parse(t, "catalogs: \n- name: c\n  type: hadoop\n  warehouse: /w\n  "+tables+"\npartitions_top: 3\n")
		want := c.Settings
		for _, name := range []string{"a.b", "a.b.c.d"} {
			got, ok := c.Catalogs[0].Match(name)
			if !ok || !reflect.DeepEqual(got.Settings, want) || got.PartitionsTop != 3 {
				t.Errorf("%q: %s got %v, %+v", tables, name, ok, got)
			}
		}
	}
}

func TestMatchGlob(t *testing.T) {
	for _, c := range []struct {
		glob     string
		matches  []string
		excludes []string
	}{
		{"sales.orders", []string{"sales.orders"}, []string{"sales.order", "sales.orders.x", "x.sales.orders", "sales", ""}},
		{"sales.*", []string{"sales.orders", "sales.", "sales.a b"}, []string{"sales", "sales.eu.orders", "salesx.orders"}},
		{"*.orders", []string{"sales.orders"}, []string{"orders", "a.sales.orders", "sales.orders2"}},
		{"*.tmp_*", []string{"a.tmp_", "a.tmp_1"}, []string{"a.tmp", "a.b.tmp_1", "tmp_1"}},
		{"a.?", []string{"a.b", "a.é"}, []string{"a.", "a.bc"}},
		{"a.[a-c]x", []string{"a.ax", "a.cx"}, []string{"a.dx", "a.x"}},
		{`a.\*`, []string{"a.*"}, []string{"a.b"}},
		{"**", []string{"a", "a.b", "a.b.c"}, nil},
		{"sales.**", []string{"sales", "sales.a", "sales.a.b.c"}, []string{"sale.a", "x.sales.a"}},
		{"**.orders", []string{"orders", "a.orders", "a.b.c.orders"}, []string{"a.orders.b", "a.xorders"}},
		{"a.**.z", []string{"a.z", "a.b.z", "a.z.z", "a.b.c.z"}, []string{"a", "z", "a.b", "b.a.z"}},
		{"**.a.**.b", []string{"a.b", "x.a.y.b", "a.a.b.b", "a.b.a.b"}, []string{"b.a", "a", "a.b.c"}},
		{"**.**", []string{"a", "a.b"}, nil},
		{"a.**x", []string{"a.x", "a.bx"}, []string{"a.b.x"}}, // Within a level it is two of *.
	} {
		for _, name := range c.matches {
			if !matchGlob(c.glob, name) {
				t.Errorf("%s does not match %s", c.glob, name)
			}
		}
		for _, name := range c.excludes {
			if matchGlob(c.glob, name) {
				t.Errorf("%s matches %s", c.glob, name)
			}
		}
	}
}

// TestMatchGlobTakesLongNames takes names as long as a request can bring them.
// Were a name of n levels n² steps, this would take minutes.
func TestMatchGlobTakesLongNames(t *testing.T) {
	began := time.Now()
	if matchGlob("**.a.**.a.**.b", strings.Repeat("a.", 400_000)+"c") {
		t.Error("a name without b matches")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestMatch(t *testing.T) {
	c := parse(t, `
catalogs:
  - name: c
    type: hadoop
    warehouse: /w
    exclude: ["*.tmp_*", "secret.**", sales.gone, "sales.[x]"]
    tables:
      - {name: sales.orders, partitions_top: 1}
      - {name: sales.gone, partitions_top: 2}
      - {name: "sales.*", partitions_top: 3}
      - {name: "sales.late", partitions_top: 4}
      - {name: "**.events", partitions_top: 5}
`).Catalogs[0]
	for name, want := range map[string]int{
		"sales.orders": 1, "sales.customers": 3, "sales.late": 3, // The first entry wins.
		"a.b.events": 5, "sales.events": 3, "events": 5,
		"sales.gone": 0, "sales.tmp_1": 0, "secret.events": 0, "secret.a.events": 0, "sales.x": 0, // Excluded.
		"sales.eu.orders": 0, "other.orders": 0, "": 0, // Covered by no entry.
	} {
		table, ok := c.Match(name)
		if ok != (want > 0) || table.PartitionsTop != want {
			t.Errorf("%q is covered (%v) by the entry %d, want %d", name, ok, table.PartitionsTop, want)
		}
	}
}

// TestMatchTakesNamesLiterally: a table may have a name that reads like a glob.
func TestMatchTakesNamesLiterally(t *testing.T) {
	c := Catalog{Tables: []Table{{Name: "a.x[1]"}}}
	for name, want := range map[string]bool{"a.x[1]": true, "a.x1": true, "a.x2": false} {
		if _, ok := c.Match(name); ok != want {
			t.Errorf("%s: got %v", name, ok)
		}
	}
}

func TestMayMatchIn(t *testing.T) {
	for _, c := range []struct {
		tables []string
		in     []string
		notIn  []string
	}{
		{[]string{"**"}, []string{"a", "a.b"}, nil},
		{[]string{"sales.*"}, []string{"sales"}, []string{"sale", "sales.eu", "a.sales"}},
		{[]string{"sales.**"}, []string{"sales", "sales.eu", "sales.eu.de"}, []string{"hr", "hr.sales"}},
		{[]string{"*.orders"}, []string{"a", "b"}, []string{"a.b"}},
		{[]string{"**.orders"}, []string{"a", "a.b"}, nil},
		{[]string{"a.**.x"}, []string{"a", "a.b", "a.b.c"}, []string{"b"}},
		{[]string{"a.b.*", "c*.t?"}, []string{"a.b", "c", "cc"}, []string{"a", "b", "c.c"}},
		{[]string{"sales.orders"}, nil, []string{"sales", "hr"}}, // A name needs no listing.
		{[]string{"sales.orders", "hr.*"}, []string{"hr"}, []string{"sales"}},
	} {
		var catalog Catalog
		for _, name := range c.tables {
			catalog.Tables = append(catalog.Tables, Table{Name: name})
		}
		for _, namespace := range c.in {
			if !catalog.MayMatchIn(namespace) {
				t.Errorf("%v match nothing in %s", c.tables, namespace)
			}
		}
		for _, namespace := range c.notIn {
			if catalog.MayMatchIn(namespace) {
				t.Errorf("%v may match in %s", c.tables, namespace)
			}
		}
	}
}

func TestIsGlob(t *testing.T) {
	for name, want := range map[string]bool{"a.b": false, "a.*": true, "**": true, "a.b?": true, "a.[bc]": true} {
		if got := (Table{Name: name}).IsGlob(); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
