package config

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryMistakeAtOnce reads a file with as many mistakes as it can hold.
func TestEveryMistakeAtOnce(t *testing.T) {
	const file = "testdata/mistakes.yml"
	c, err := Load(file)
	if err == nil {
		t.Fatalf("got %+v", c)
	}
	compareGolden(t, "mistakes.golden.txt", err.Error()+"\n")
}

// TestMistakesAreWhereTheyAreTold finds a comment with the field and the message
// at each line of the file that the golden file names.
func TestMistakesAreWhereTheyAreTold(t *testing.T) {
	text, err := os.ReadFile("testdata/mistakes.yml")
	if err != nil {
		t.Fatal(err)
	}
	told := mistakes(t, string(text))
	marked := 0
	for i, line := range strings.Split(string(text), "\n") {
		_, comment, has := strings.Cut(line, "# wrong: ")
		if !has {
			continue
		}
		for part := range strings.SplitSeq(comment, "; ") {
			marked++
			place := "test.yml:" + strconv.Itoa(i+1) + ": "
			if !slices.ContainsFunc(told, func(m string) bool { return strings.HasPrefix(m, place) && strings.Contains(m, part) }) {
				t.Errorf("%s%s is not told", place, part)
			}
		}
	}
	if marked != len(told) {
		t.Errorf("%d mistakes are marked, %d told", marked, len(told))
	}
}

func TestMistakes(t *testing.T) {
	const catalog = "catalogs:\n- name: c\n  type: "
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a list":            {"- a", []string{"test.yml:1: wants fields (name: value)"}},
		"a text":            {"a", []string{"test.yml:1: wants fields (name: value)"}},
		"unknown at top":    {"\nfoo: 1", []string{"test.yml:2: foo: unknown field"}},
		"twice":             {"partitions_top: 1\npartitions_top: 2", []string{"test.yml:2: partitions_top: is set twice"}},
		"catalogs twice":    {"catalogs: []\nscrape: {}\ncatalogs: []", []string{"test.yml:3: catalogs: is set twice"}},
		"unknown twice":     {"x: 1\nx: 2", []string{"test.yml:1: x: unknown field", "test.yml:2: x: is set twice"}},
		"a name of a list":  {"? [a]\n: 1", []string{"test.yml:1: has a field whose name is not a plain text"}},
		"no fields":         {"scrape: 5", []string{"test.yml:1: scrape: wants fields (name: value)"}},
		"no list":           {"catalogs: {}", []string{"test.yml:1: catalogs: wants a list"}},
		"no value":          {"recent_window:", []string{"test.yml:1: recent_window: has no value"}},
		"no single value":   {"recent_window: [1d]", []string{"test.yml:1: recent_window: wants a single value"}},
		"no table":          {catalog + "hadoop\n  warehouse: /w\n  tables: [5]", []string{"test.yml:5: catalogs[0].tables[0]: wants fields (name: value)", "test.yml:5: catalogs[0].tables[0].name: is missing"}},
		"property":          {catalog + "glue\n  properties: {a: [1], b: , c: {}}", []string{"test.yml:4: catalogs[0].properties.a: wants a single value", "test.yml:4: catalogs[0].properties.b: has no value", "test.yml:4: catalogs[0].properties.c: wants a single value"}},
		"property twice":    {catalog + "glue\n  properties:\n    s3.region: a\n    s3.region: a", []string{"test.yml:6: catalogs[0].properties.s3.region: is set twice"}},
		"properties":        {catalog + "glue\n  properties: [a]", []string{"test.yml:4: catalogs[0].properties: wants fields (name: value)"}},
		"several documents": {"{}\n---\n{}", []string{"test.yml: wants one YAML document, has several"}},
		"two in one line":   {"scrape: {concurrency: 0, table_timeout: 0s}", []string{"test.yml:1: scrape.concurrency: must be at least 1", "test.yml:1: scrape.table_timeout: must be above 0"}},
		"in a table": {
			catalog + "hadoop\n  warehouse: /w\n  tables:\n  - name: a.b\n    thresholds:\n      small_file_ratio: 2\n    orphan_scan:\n      older_than: 1h",
			[]string{"test.yml:8: catalogs[0].tables[0].thresholds.small_file_ratio: is a ratio: must be 0 to 1", "test.yml:10: catalogs[0].tables[0].orphan_scan.older_than: must be at least 1d, or files of running commits count as orphans"},
		},
		"a default is told once": {
			catalog + "hadoop\n  warehouse: /w\n  tables: [{name: a.b}, {name: a.c}]\npartitions_top: 101",
			[]string{"test.yml:6: partitions_top: must be 0 to 100"},
		},
		"nothing of a catalog": {"catalogs: [{}]", []string{"test.yml:1: catalogs[0].name: is missing", "test.yml:1: catalogs[0].type: must be one of [rest glue hive sql hadoop metadata]"}},
		"type":                 {catalog + "Rest", []string{"test.yml:3: catalogs[0].type: must be one of [rest glue hive sql hadoop metadata]"}},
		"same name":            {"catalogs:\n- {name: c, type: glue}\n- {name: d, type: glue}\n- {name: c, type: glue}", []string{"test.yml:4: catalogs[2].name: another catalog has this name"}},
		"rest without uri":     {catalog + "rest", []string{"test.yml:2: catalogs[0].uri: is missing: a rest catalog wants https://host/path"}},
		"rest uri":             {catalog + "rest\n  uri: catalog.example.com", []string{"test.yml:4: catalogs[0].uri: a rest catalog wants https://host/path"}},
		"hive uri":             {catalog + "hive\n  uri: http://h:9083", []string{"test.yml:4: catalogs[0].uri: a hive catalog wants thrift://host:9083"}},
		"sql uri":              {catalog + "sql\n  uri: mysql://h/db", []string{"test.yml:4: catalogs[0].uri: a sql catalog wants sqlite:///path or postgresql://user@host/db"}},
		"no uri":               {catalog + "sql\n  uri: 'postgresql://u:p%zz@h'", []string{"test.yml:4: catalogs[0].uri: is not a URI: a sql catalog wants sqlite:///path or postgresql://user@host/db"}},
		"glue uri":             {catalog + "glue\n  uri: https://h", []string{"test.yml:4: catalogs[0].uri: is not for catalogs of type glue"}},
		"hadoop":               {catalog + "hadoop", []string{"test.yml:2: catalogs[0].warehouse: is missing: a hadoop catalog wants the directory that its namespaces lie in"}},
		"metadata":             {catalog + "metadata\n  warehouse: /w", []string{"test.yml:2: catalogs[0].tables: is missing: a metadata catalog knows only the tables that it names", "test.yml:4: catalogs[0].warehouse: is not for catalogs of type metadata: its tables have a location each"}},
		"metadata table":       {catalog + "metadata\n  tables: [{name: a.b}]", []string{"test.yml:4: catalogs[0].tables[0].location: is missing: the table's directory or one metadata.json"}},
		"metadata glob":        {catalog + "metadata\n  tables: [{name: a.*, location: /x}]", []string{"test.yml:4: catalogs[0].tables[0].name: a metadata catalog has nothing to list: name each table"}},
		"location":             {catalog + "glue\n  tables: [{name: a.b, location: /x}]", []string{"test.yml:4: catalogs[0].tables[0].location: is for catalogs of type metadata: this catalog knows where its tables are"}},
		"moved":                {catalog + "glue\n  allow_moved_paths: true", []string{"test.yml:4: catalogs[0].allow_moved_paths: is for catalogs of type metadata and hadoop"}},
		"discovery":            {catalog + "glue\n  discovery_interval: 0s", []string{"test.yml:4: catalogs[0].discovery_interval: must be above 0"}},
		"table name":           {catalog + "glue\n  tables: [{name: orders}, {}]", []string{"test.yml:4: catalogs[0].tables[0].name: wants namespace.table", "test.yml:4: catalogs[0].tables[1].name: is missing"}},
		"same table":           {catalog + "glue\n  tables:\n  - name: a.*\n  - name: a.b\n  - name: a.*", []string{"test.yml:7: catalogs[0].tables[2].name: another entry has this name: only the first would count"}},
		"globs":                {catalog + "glue\n  tables: [{name: 'a.['}, {name: a..*}]\n  exclude: ['a.[', '']", []string{"test.yml:4: catalogs[0].tables[0].name: is not a glob", "test.yml:4: catalogs[0].tables[1].name: is not a glob", "test.yml:5: catalogs[0].exclude[0]: is not a glob", "test.yml:5: catalogs[0].exclude[1]: is not a glob"}},
		"globs of one level":   {catalog + "glue\n  tables: [{name: '*'}]\n  exclude: ['tmp_*', '**']", []string{"test.yml:4: catalogs[0].tables[0].name: matches no table: wants namespace.table, or ** for every table", "test.yml:5: catalogs[0].exclude[0]: matches no table: wants namespace.table, or ** for every table"}},
		"token for glue":       {catalog + "glue\n  token: x\n  credential: x", []string{"test.yml:4: catalogs[0].token: is not for catalogs of type glue", "test.yml:5: catalogs[0].credential: is not for catalogs of type glue"}},
		"token file for sql":   {catalog + "sql\n  uri: sqlite:///x\n  token_file: testdata/secret", []string{"test.yml:5: catalogs[0].token_file: is not for catalogs of type sql"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mistakes(t, c.text); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestNamesMustBeUTF8(t *testing.T) {
	t.Setenv("NAME", "\xff.\xff")
	want := []string{"test.yml:1: catalogs[0].name: is not UTF-8", "test.yml:1: catalogs[0].tables[0].name: is not UTF-8"}
	if got := mistakes(t, "catalogs: [{name: '${NAME}', type: glue, tables: [{name: '${NAME}'}]}]"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestSyntaxErrors: the YAML library tells some errors one line early.
func TestSyntaxErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tab":             {"scrape:\n\tconcurrency: 1", "test.yml:2: found character that cannot start any token"},
		"indentation":     {"scrape:\n  concurrency: 1\n table_timeout: 1m\n", "test.yml:2: did not find expected key"},
		"colon":           {"recent_window: 1d\nscrape: a: b", "test.yml:2: mapping values are not allowed in this context"},
		"bracket":         {"catalogs: [\n", "test.yml:1: did not find expected node content"},
		"quote":           {"recent_window: \"1d\n", "test.yml:2: found unexpected end of stream"},
		"alias":           {"a: 1\nb: *planted-secret", "test.yml: an alias (*name) has no anchor (&name): quote a text that starts with an asterisk"},
		"control letters": {"a: \x01", "test.yml: control characters are not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mistakes(t, c.text); len(got) != 1 || got[0] != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
