package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page is in the form of docs/metrics.md.
const page = "" +
	"| metric | type | labels | meaning |\n" +
	"|---|---|---|---|\n" +
	"| `iceberg_table_up` | gauge |  | Whether it is up. |\n" +
	"| `iceberg_table_data_files` | gauge |  | Live data files. |\n" +
	"| `iceberg_table_threshold` | gauge | `threshold` | The limit. |\n" +
	"| `iceberg_table_info` | gauge | `uuid`, `location` | What it is. |\n" +
	"| `iceberg_table_delete_files` | gauge | `content` | Live delete files: position_deletes or deletion_vectors. |\n" +
	"| `iceberg_table_size_bytes` | histogram |  | Sizes. |\n" +
	"| `iceberg_catalog_up` | gauge | `catalog` | Whether it answers. |\n" +
	"| `iceberg_exporter_reads_total` | counter |  | Reads. |\n" +
	"| `iceberg_exporter_hits_total` | counter |  | Hits. |\n"

const recording = `
groups:
  - name: recording
    rules:
      - record: table:files:ratio
        expr: table:files:max / (table:files:max offset 1w > 0)
      - record: table:files:max
        expr: max by (catalog, namespace, table) (iceberg_table_data_files)
      - record: table_threshold:limit:max
        expr: max by (catalog, namespace, table, threshold) (iceberg_table_threshold)
`

// example is a checker of the metrics and rules above.
func example(t *testing.T) *checker {
	t.Helper()
	metrics := documented(page)
	metrics["iceberg_table_threshold"].values["threshold"] = setOf("files", "bytes")
	c := newChecker(metrics, ofPrometheus())
	c.checkRules(parseRules(t, recording), "")
	if len(c.problems) > 0 {
		t.Fatal(c.problems)
	}
	return c
}

// expect compares the problems found with one that is wanted, or none.
func expect(t *testing.T, c *checker, want string) {
	t.Helper()
	all := strings.Join(c.problems, "\n")
	switch {
	case want == "" && all != "":
		t.Errorf("it is fine, but: %s", all)
	case want != "" && !strings.Contains(all, want):
		t.Errorf("it should find %q, but finds: %s", want, all)
	}
}

func TestExpressions(t *testing.T) {
	const on = "on (catalog, namespace, table) "
	for name, test := range map[string]struct{ expression, want string }{
		"fine":                         {"table:files:max > " + on + `table_threshold:limit:max{threshold="files"} * 4`, ""},
		"fine by group_left":           {"table_threshold:limit:max / " + on + "group_left () table:files:max", ""},
		"fine by group_right":          {"table:files:max / " + on + "group_right () table_threshold:limit:max", ""},
		"fine on one exporter":         {"iceberg_exporter_hits_total / iceberg_exporter_reads_total", ""},
		"fine by histogram":            {"histogram_quantile(0.9, sum by (le) (max by (catalog, namespace, table, le) (iceberg_table_size_bytes_bucket)))", ""},
		"fine of two kinds":            {`max by (catalog, namespace, table) (table:files:max or table_threshold:limit:max{threshold="files"})`, ""},
		"fine or nothing":              {"count(table:files:max) or vector(0)", ""},
		"fine by label_replace":        {`label_replace(table:files:max, "kind", "files", "", "") > ` + on + "max by (catalog, namespace, table) (iceberg_table_up)", ""},
		"fine with many labels":        {"iceberg_table_info * " + on + "group_left (threshold) " + `table_threshold:limit:max{threshold="files"}`, ""},
		"fine without instance":        {"sum without (job) (rate(iceberg_exporter_reads_total[5m]))", ""},
		"no PromQL":                    {"max by (", "parse error"},
		"no such metric":               {"iceberg_table_data_file", "no metric is called iceberg_table_data_file"},
		"no such metric, by a matcher": {`{__name__="iceberg_table_nothing"}`, "no metric is called iceberg_table_nothing"},
		"histogram without a suffix":   {"iceberg_table_size_bytes", "no metric is called iceberg_table_size_bytes"},
		"no such label to match":       {`iceberg_table_data_files{content="data"}`, "iceberg_table_data_files has no label content"},
		"no label that it says is not": {`iceberg_table_data_files{content!="data"}`, "iceberg_table_data_files has no label content"},
		"no such label after a rule":   {`table:files:max{instance="a"}`, "table:files:max has no label instance"},
		"no such limit":                {`iceberg_table_threshold{threshold="file"}`, `is never "file"`},
		"no such limit after a rule":   {`table_threshold:limit:max{threshold="file"}`, `is never "file"`},
		"no such value":                {`iceberg_table_delete_files{content="positions"}`, `is never "positions"`},
		"no such label to group by":    {"max by (catalog, schema) (iceberg_table_data_files)", "groups by schema"},
		"no such label to do without":  {"max without (schema) (iceberg_table_data_files)", "groups by schema"},
		"no such label to join on":     {"table:files:max > on (catalog, namespace, table, instance) table:files:max", "joins on instance"},
		"no such label to and on":      {"table:files:max and on (catalog, namespace, table, uuid) iceberg_table_info", "joins on uuid"},
		"no such label to take":        {"table:files:max * " + on + "group_left (location) max by (catalog, namespace, table) (iceberg_table_info)", "takes location"},
		"no such label to replace":     {`label_replace(table:files:max, "a", "$1", "uuid", "(.*)")`, "takes uuid"},
		"no such label to join":        {`label_join(table:files:max, "a", "-", "table", "uuid")`, "takes uuid"},
		"no buckets":                   {"histogram_quantile(0.9, table:files:max)", "needs the label le"},

		"two exporters on the left":    {"iceberg_table_data_files > " + on + `table_threshold:limit:max{threshold="files"}`, "several series of the left side"},
		"two exporters on the right":   {"table:files:max > " + on + "iceberg_table_up", "several series of the right side"},
		"two exporters, grouped":       {"table:files:max * " + on + "group_right () iceberg_table_up > 0 or iceberg_table_up * " + on + "group_left () iceberg_table_up", "several series of the right side"},
		"two exporters, group_right":   {"iceberg_table_up * " + on + "group_right () table:files:max", "several series of the left side"},
		"two clusters":                 {"iceberg_exporter_hits_total / on (job, instance) iceberg_exporter_reads_total", otherTargetLabels},
		"a changed property":           {"max by (catalog, namespace, table, location) (iceberg_table_info) * " + on + "table:files:max", "aggregated over location"},
		"all limits at once":           {"table:files:max > " + on + "table_threshold:limit:max", "aggregated over threshold"},
		"two kinds":                    {"(table:files:max or table_threshold:limit:max) > " + on + "table:files:max", "several series of the left side"},
		"tables of a name match":       {"table:files:max and on (table) table:files:max", "joins without catalog, namespace"},
		"tables of a name are silent":  {"table:files:max unless ignoring (namespace) table:files:max", "joins without namespace"},
		"tables of a catalog":          {"table:files:max / on (catalog) group_left () max by (catalog) (iceberg_catalog_up)", ""},
		"sides that never match":       {`table:files:max > table_threshold:limit:max{threshold="files"}`, "the sides never match"},
		"sides that never match, and":  {"table:files:max and iceberg_table_up", "the sides never match"},
		"sum over exporters":           {"sum by (catalog) (iceberg_table_data_files)", "once for each exporter"},
		"sum over exporters after max": {"sum by (catalog) (max by (catalog, namespace, table, instance) (iceberg_table_data_files))", "once for each exporter"},
		"count of exporters":           {"count(iceberg_table_up == 0)", "once for each exporter"},
		"top of exporters":             {"topk(10, iceberg_table_data_files)", "once for each exporter"},
		"sum over tables":              {"sum by (catalog) (table:files:max)", ""},
		"label_replace over the key":   {`label_replace(table:files:max, "table", "all", "", "")`, "overwrites table"},
		"label_join over the key":      {`label_join(table:files:max, "table", ".", "namespace", "table")`, "overwrites table"},
		"group_left over the key":      {"table_threshold:limit:max * " + on + `group_left (threshold) table_threshold:limit:max{threshold="files"}`, "overwrites threshold"},
		"what a join drops":            {"max by (threshold) (max by (catalog, namespace, table, threshold) (iceberg_table_threshold{threshold=\"files\"}) > " + on + "table:files:max)", "groups by threshold"},
		"what absent has":              {`max by (job, instance) (absent(up{job="iceberg"}))`, "groups by instance"},
		"what an aggregation drops":    {"max by (table) (max by (catalog) (iceberg_table_up))", "groups by table"},
		"in a subquery":                {"max_over_time(iceberg_nothing[1h:1m])", "no metric is called iceberg_nothing"},
		"in a range":                   {"rate(iceberg_exporter_read_total[5m])", "no metric is called iceberg_exporter_read_total"},
		"in a scalar":                  {"table:files:max > scalar(iceberg_nothing)", "no metric is called iceberg_nothing"},
		"in a parameter":               {"topk(scalar(iceberg_nothing), table:files:max)", "no metric is called iceberg_nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			c := example(t)
			c.check(test.expression)
			expect(t, c, test.want)
		})
	}
}

func TestRules(t *testing.T) {
	for name, test := range map[string]struct{ rule, want string }{
		"level with fewer labels": {"{record: 'table:up:max', expr: 'max by (catalog, table) (iceberg_table_up)'}", "table:up:max: the level table stands for (catalog, namespace, table), but the series have (catalog, table)"},
		"level with more labels":  {"{record: 'table:up:max', expr: iceberg_table_up}", "the level table stands for"},
		"level not known":         {"{record: 'database:up:max', expr: 'max(iceberg_table_up)'}", "its level is not known"},
		"name without a level":    {"{record: iceberg_up, expr: 'max(iceberg_table_up)'}", "the name is not level:metric:operation"},
		"recorded twice":          {"{record: 'table:files:max', expr: 'max by (catalog, namespace, table) (iceberg_table_up)'}", "two rules record table:files:max"},
		"added labels":            {"{record: 'table:up:max', expr: 'max by (catalog, namespace, table) (iceberg_table_up)', labels: {a: b}}", "table:up:max adds labels"},
		"in a circle":             {"{record: 'table:up:max', expr: 'max by (catalog) (table:up:max)'}", "groups by catalog"},
		"wrong in itself":         {"{record: 'table:up:max', expr: 'max by (catalog, namespace, table) (iceberg_table_down)'}", "table:up:max: no metric is called iceberg_table_down"},
	} {
		t.Run(name, func(t *testing.T) {
			c := example(t)
			c.records, c.metrics = map[string]string{}, documented(page)
			c.checkRules(append(parseRules(t, recording), parseRules(t, "groups: [{name: a, rules: ["+test.rule+"]}]")...), "")
			expect(t, c, test.want)
		})
	}
}

// alert is one without fault.
const alert = `
groups:
  - name: alerts
    rules:
      - alert: IcebergFiles
        expr: table:files:max > on (catalog, namespace, table) table_threshold:limit:max{threshold="files"}
        labels: {severity: warning}
        annotations:
          summary: There are many files.
          description: '{{ $table := printf "table=%q" $labels.table }}{{ $labels.table }}: {{ printf "table:files:ratio{%s}" $table | query | first | value }}'
          runbook_url: https://github.com/iceberg-exporter/iceberg_exporter/blob/main/docs/runbooks/IcebergFiles.md
`

func TestAlerts(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"fine":                           {"", "", ""},
		"the expression is checked":      {"table:files:max >", "table:file:max >", "IcebergFiles: no metric is called table:file:max"},
		"a label that a join drops":      {"{{ $labels.table }}", "{{ $labels.threshold }}", `map has no entry for key "threshold"`},
		"a label of the target":          {"{{ $labels.table }}", "{{ .Labels.instance }}", `map has no entry for key "instance"`},
		"a label deep in the template":   {"{{ $labels.table }}", "{{ if gt $value 0.0 }}{{ with $labels.table }}{{ $labels.uuid }}{{ end }}{{ end }}", `map has no entry for key "uuid"`},
		"a label that the alert sets":    {"{{ $labels.table }}", "{{ $labels.severity }}", ""},
		"a template that is not run":     {"{{ $labels.table }}", "{{ if $value }}{{ else }}{{ $labels.uuid }}{{ end }}", "a template with an else"},
		"a query of no metric":           {"table:files:ratio{", "table:files:ratios{", "IcebergFiles, description: no metric is called table:files:ratios"},
		"a query of no label":            {"table=%q", "uuid=%q", "table:files:ratio has no label uuid"},
		"a query that is no PromQL":      {"ratio{%s}", "ratio{%s", "parse error"},
		"a query's labels":               {"| first | value", "| first | label \"table\"", ""},
		"no summary":                     {"summary: There", "title: There", "there is no annotation summary"},
		"no description":                 {"description: '{{", "descriptions: '{{", "there is no annotation description"},
		"no runbook":                     {"runbook_url", "runbook", "there is no annotation runbook_url"},
		"another alert's runbook":        {"IcebergFiles.md", "README.md", "the runbook is not docs/runbooks/IcebergFiles.md"},
		"another place":                  {"blob/main", "tree/main", "the runbook is not docs/runbooks/IcebergFiles.md"},
		"a runbook that is not written":  {"IcebergFiles", "IcebergManyFiles", "the runbook does not exist"},
		"no severity":                    {"severity: warning", "level: warning", `the severity is ""`},
		"a severity that nobody routes":  {"severity: warning", "severity: page", `the severity is "page"`},
		"a label that hides another one": {"severity: warning", "severity: warning, table: all", "sets the label table"},
	} {
		t.Run(name, func(t *testing.T) {
			c := example(t)
			if !strings.Contains(alert, test.old) {
				t.Fatalf("the alert has no %q", test.old)
			}
			c.checkRules(parseRules(t, strings.ReplaceAll(alert, test.old, test.new)), pages(t))
			expect(t, c, test.want)
		})
	}
}

const board = `{
  "uid": "files",
  "links": [{"url": "/d/files?var-table=${__field.labels.table:percentencode}\u0026var-catalog=x"}],
  "templating": {"list": [
    {"type": "datasource", "name": "datasource", "query": "prometheus"},
    {"type": "query", "name": "catalog", "query": "label_values(iceberg_table_up, catalog)"},
    {"type": "query", "name": "table", "query": "label_values(iceberg_table_up{catalog=\"$catalog\"}, table)"},
    {"type": "textbox", "name": "price", "query": "0.5"}
  ]},
  "annotations": {"list": [{"name": "Changes", "target": {"refId": "X", "expr": "changes(table:files:max[$__range])"}}]},
  "panels": [
    {"title": "Files", "links": [{"url": "https://github.com/iceberg-exporter/iceberg_exporter/blob/main/docs/runbooks/README.md"}], "targets": [
      {"refId": "A", "expr": "sum by (catalog) (table:files:max{catalog=~\"${catalog:regex}\", table=\"$table\"})", "legendFormat": "of {{catalog}}"},
      {"refId": "B", "expr": "rate(iceberg_exporter_reads_total[$__rate_interval]) * $price", "legendFormat": "__auto"}
    ]},
    {"title": "Folded", "panels": [{"title": "Alerts", "targets": [{"refId": "C", "expr": "ALERTS{alertstate=\"firing\", severity=\"warning\", table=\"$table\"}"}]}]}
  ]
}`

func TestDashboards(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"fine":                           {"", "", ""},
		"no metric in a panel":           {"sum by (catalog) (table:files:max", "sum by (catalog) (table:file:max", "files, Files, A: no metric is called table:file:max"},
		"no label in a panel":            {", table=", ", uuid=", "table:files:max has no label uuid"},
		"no metric in a folded panel":    {"ALERTS{", "ALERT{", "files, Alerts, C: no metric is called ALERT"},
		"no label of an alert":           {`alertstate=`, `state=`, "ALERTS has no label state"},
		"no metric in an annotation":     {"changes(table:files:max", "changes(table:file:max", "files, annotation Changes: no metric is called table:file:max"},
		"no metric in a variable":        {"label_values(iceberg_table_up, ", "label_values(iceberg_table_down, ", "files, variable catalog: no metric is called iceberg_table_down"},
		"no label in a variable":         {"(iceberg_table_up, catalog)", "(iceberg_table_up, schema)", "the series have no label schema"},
		"no label in a variable's query": {`up{catalog=`, `up{schema=`, "iceberg_table_up has no label schema"},
		"another query in a variable":    {"label_values(iceberg_table_up, catalog)", "label_names()", "the query is not label_values(selector, label)"},
		"no such variable":               {"$table", "$tabel", "there is no variable $tabel"},
		"no number in a text box":        {`"0.5"`, `"half"`, "no metric is called half"},
		"no label in a legend":           {"{{catalog}}", "{{table}}", "the legend names table"},
		"no dashboard behind a link":     {"/d/files", "/d/file", "a link leads to no dashboard"},
		"no variable behind a link":      {"var-table", "var-tabel", "files has no variable tabel"},
		"no page behind a link":          {"README.md", "READYOU.md", "a link leads nowhere"},
		"another kind of link":           {"https://github", "http://github", "a link is neither"},
	} {
		t.Run(name, func(t *testing.T) {
			c, root := example(t), pages(t)
			c.checkRules(parseRules(t, alert), root)
			if !strings.Contains(board, test.old) {
				t.Fatalf("the dashboard has no %q", test.old)
			}
			d, err := parseDashboard([]byte(strings.ReplaceAll(board, test.old, test.new)))
			if err != nil {
				t.Fatal(err)
			}
			c.checkDashboards([]dashboard{d}, root)
			expect(t, c, test.want)
		})
	}
	if _, err := parseDashboard([]byte(`{"uid": "empty"}`)); err == nil {
		t.Error("a dashboard without panels is one")
	}
	if _, err := readDashboards(filepath.Join(t.TempDir(), "*.json")); err == nil {
		t.Error("there is nothing to read, and no error")
	}
}

func TestReading(t *testing.T) {
	metrics := documented(page)
	if v := metrics["iceberg_table_size_bytes_bucket"]; v.labels.String() != "catalog, instance, job, le, namespace, table" {
		t.Errorf("the labels of a histogram are %s", v.labels)
	}
	if v := metrics["iceberg_exporter_reads_total"]; v.labels.String() != "instance, job" {
		t.Errorf("the labels of a counter are %s", v.labels)
	}
	names, err := limits("a: 1\n\nthresholds:   # all\n  files: 1 # most\n  bytes: null\n\ncatalogs:\n  name: x\n")
	if err != nil || names.String() != "bytes, files" {
		t.Errorf("the limits are %s, %v", names, err)
	}
	if _, err := limits("limits:\n  files: 1\n"); err == nil {
		t.Error("limits are found where there are none")
	}
	process, err := ofTheProcess()
	if err != nil {
		t.Fatal(err)
	}
	if v := process["iceberg_exporter_build_info"]; !v.labels["version"] {
		t.Errorf("the labels of the build are %s", v.labels)
	}
	if _, err := readRules(filepath.Join(t.TempDir(), "*.yml")); err == nil {
		t.Error("there is nothing to read, and no error")
	}
}

func TestForgotten(t *testing.T) {
	rules := parseRules(t, alert)
	if names := forgotten(rules, []string{"IcebergFiles.md", "a/IcebergBytes.md"}); len(names) != 1 || names[0] != "IcebergBytes" {
		t.Errorf("forgotten are %v", names)
	}
}

func parseRules(t *testing.T, text string) []rule {
	t.Helper()
	file := filepath.Join(t.TempDir(), "some.rules.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := readRules(file)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// pages is a directory with the pages that the examples above link to.
func pages(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	runbooks := filepath.Join(root, "docs/runbooks")
	if err := os.MkdirAll(runbooks, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "IcebergFiles.md"} {
		if err := os.WriteFile(filepath.Join(runbooks, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
