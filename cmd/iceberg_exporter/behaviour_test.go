package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// program runs the exporter to its end.
func program(t *testing.T, args ...string) (output string, status int) {
	t.Helper()
	command := exec.Command(binary, args...)
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

func TestVersion(t *testing.T) {
	output, status := program(t, "--version")
	if status != 0 || !strings.HasPrefix(output, "iceberg_exporter, version") || !strings.Contains(output, "go version") {
		t.Errorf("status %d: %s", status, output)
	}
}

func TestWrongFlags(t *testing.T) {
	sample := "--config.file=" + filepath.Join(repository(t), "deploy", "sample.yml")
	for _, args := range [][]string{
		{"--no-such-flag"},
		{"--log.level=loud"},
		{"argument"},
		{sample, "--web.telemetry-path=metrics"},
		{sample, "--web.telemetry-path="},
		{sample, "--web.telemetry-path=/probe"},
		{sample, "--web.telemetry-path=/{x}"},
	} {
		if output, status := program(t, args...); status == 0 {
			t.Errorf("%q: status %d: %s", args, status, output)
		}
	}
}

const mistakenConfiguration = `small_file_threshold: huge
no_such_setting: 1
catalogs:
  - name: a
    type: hadoop
    warehouse: /w
    tables:
      - name: sales.orders
        thresholds: {data_files: -5}
  - name: a
    type: carrier-pigeon
`

// TestEveryMistakeAtOnce: a wrong configuration is told whole, with places.
func TestEveryMistakeAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wrong.yml")
	if err := os.WriteFile(file, []byte(mistakenConfiguration), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--config.file=" + file, "--config.check"}, {"--config.file=" + file}} {
		output, status := program(t, args...)
		if status != 1 {
			t.Errorf("%q: status %d", args, status)
		}
		for _, want := range []string{
			file + ":1: small_file_threshold: ",
			file + ":2: no_such_setting: ",
			file + ":9: catalogs[0].tables[0].thresholds.data_files: ",
			file + ":10: catalogs[1].name: ",
			file + ":11: catalogs[1].type: ",
		} {
			if !strings.Contains(output, want) {
				t.Errorf("%q does not tell of %q: %s", args, want, output)
			}
		}
	}
	if output, status := program(t, "--config.file=/no/such/file", "--config.check"); status != 1 || !strings.Contains(output, "/no/such/file") {
		t.Errorf("status %d: %s", status, output)
	}
	if output, status := program(t, "--config.file="+filepath.Join("..", "..", "config.example.yml"), "--config.check"); status != 0 {
		t.Errorf("the example: status %d: %s", status, output)
	}
}

func TestReload(t *testing.T) {
	p := start(t, sampleConfiguration)
	const succeeded, snapshots = "iceberg_exporter_config_last_reload_successful{}", `iceberg_table_threshold{catalog="sample",namespace="sales",table="orders",threshold="snapshots"}`
	reload := func() (int, string) {
		t.Helper()
		response, err := http.Post(p.url+"/-/reload", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var body strings.Builder
		_, _ = fmt.Fprint(&body, response.Status)
		return response.StatusCode, body.String()
	}
	configure := func(text string) {
		t.Helper()
		if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := p.scrape("/metrics")
	if before[succeeded] != 1 || before[snapshots] != 1000 {
		t.Fatalf("%v, %v", before[succeeded], before[snapshots])
	}
	configure(mistakenConfiguration)
	if status, _ := reload(); status != http.StatusInternalServerError {
		t.Errorf("a wrong configuration was answered with %d", status)
	}
	if after := p.scrape("/metrics"); after[succeeded] != 0 || after[snapshots] != 1000 {
		t.Errorf("after a wrong configuration: %v, %v", after[succeeded], after[snapshots])
	}
	configure("thresholds: {snapshots: 7}\n" + sampleConfiguration)
	if status, _ := reload(); status != http.StatusOK {
		t.Errorf("a right configuration was answered with %d", status)
	}
	if after := p.scrape("/metrics"); after[succeeded] != 1 || after[snapshots] != 7 {
		t.Errorf("after a right configuration: %v, %v", after[succeeded], after[snapshots])
	}
	configure("thresholds: {snapshots: null}\n" + sampleConfiguration)
	if err := p.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the limit is gone after a SIGHUP", func() bool { _, has := p.scrape("/metrics")[snapshots]; return !has })
	if status, _ := p.get("/-/reload"); status != http.StatusMethodNotAllowed {
		t.Errorf("GET /-/reload: status %d", status)
	}
}

func TestEndpoints(t *testing.T) {
	p := start(t, sampleConfiguration)
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/":              {200, "catalog.namespace.table"},
		"/-/healthy":     {200, "OK"},
		"/-/ready":       {200, "OK"},
		"/no/such/page":  {404, ""},
		"/probe":         {400, "target="},
		"/probe?target=": {400, "target="},
		"/probe?target=sample.sales.orders&target=x": {400, "target="},
		"/probe?target=other.sales.orders":           {400, "covers no table"},
		"/probe?target=sample":                       {400, "covers no table"},
		"/probe?target=sample.sales.no_such":         {200, `iceberg_table_up{catalog="sample",namespace="sales",table="no_such"} 0`},
		"/probe?target=sample.../../../../etc.x":     {200, "} 0"},
		"/metrics?collect[]=nonsense":                {400, "want tables or exporter"},
	} {
		if status, body := p.get(path); status != want.status || !strings.Contains(body, want.body) {
			t.Errorf("%s: status %d: %.300s", path, status, body)
		}
	}
}

// TestProbeIsOneTable: a probe has the table's series as /metrics has them, and
// nothing else.
func TestProbeIsOneTable(t *testing.T) {
	p := start(t, sampleConfiguration)
	probe, all := p.scrape("/probe?target=sample.sales.orders"), p.scrape("/metrics")
	own := regexp.MustCompile(`^iceberg_table_.*namespace="sales".*table="orders"`)
	steady := func(series string) bool { return !unsteady.MatchString(series) }
	for series, value := range probe {
		if !own.MatchString(series) {
			t.Errorf("the probe has %s", series)
		}
		if steady(series) && all[series] != value {
			t.Errorf("%s: %v, in /metrics %v", series, value, all[series])
		}
	}
	for series := range all {
		if _, has := probe[series]; own.MatchString(series) && !has {
			t.Errorf("the probe lacks %s", series)
		}
	}
}

func TestCollect(t *testing.T) {
	p := start(t, sampleConfiguration)
	for series := range p.scrape("/metrics?collect[]=exporter") {
		if strings.HasPrefix(series, "iceberg_table_") || strings.HasPrefix(series, "iceberg_catalog_") {
			t.Errorf("the exporter alone has %s", series)
		}
	}
	tables := p.scrape("/metrics?collect[]=tables")
	for series := range tables {
		if !strings.HasPrefix(series, "iceberg_table_") && !strings.HasPrefix(series, "iceberg_catalog_") {
			t.Errorf("the tables alone have %s", series)
		}
	}
	if tables[`iceberg_catalog_tables{catalog="sample"}`] != 15 || tables[`iceberg_catalog_up{catalog="sample"}`] != 1 {
		t.Error("the catalog's series are wrong")
	}
}

func TestTargets(t *testing.T) {
	p := start(t, sampleConfiguration)
	_, body := p.get("/targets")
	var groups []struct {
		Targets []string
		Labels  map[string]string
	}
	if err := json.Unmarshal([]byte(body), &groups); err != nil {
		t.Fatal(err)
	}
	if len(groups) != 15 {
		t.Fatalf("%d targets: %s", len(groups), body)
	}
	for _, group := range groups {
		if status, _ := p.get("/probe?target=" + group.Targets[0]); status != http.StatusOK || len(group.Targets) != 1 {
			t.Errorf("%v: status %d", group, status)
		}
	}
}

// TestSecretsAreNowhere plants secrets in every place that takes one, lets every
// catalog fail, and looks for them in all that a person can see.
func TestSecretsAreNowhere(t *testing.T) {
	const secret = "pl4nted-s3cret"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"-in-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLANTED", secret+"-in-environment")
	refused := freeAddress(t)
	p := start(t, fmt.Sprintf(`
scrape: {table_timeout: 5s}
catalogs:
  - {name: rest, type: rest, uri: 'http://user:%[1]s@%[2]s/x?sig=%[1]s', credential: 'id:%[1]s', properties: {header.X-Key: '%[1]s', s3.secret-access-key: '${PLANTED}'}, tables: [{name: n.t}]}
  - {name: token, type: rest, uri: 'http://%[2]s', token_file: %[3]s, tables: [{name: n.t}]}
  - {name: sql, type: sql, uri: 'postgresql://user:%[1]s@%[2]s/db?sslpassword=%[1]s', tables: [{name: n.t}]}
  - {name: sqlfile, type: sql, uri: 'postgresql://user@%[2]s/db', credential_file: %[3]s, tables: [{name: n.t}]}
  - {name: hive, type: hive, uri: 'thrift://%[2]s', tables: [{name: n.t}]}
  - {name: glue, type: glue, properties: {glue.region: eu-west-1, glue.endpoint: 'http://%[2]s', glue.max-retries: "1", glue.access-key-id: AKIAPLANTED, glue.secret-access-key: '%[1]s'}, tables: [{name: n.t}]}
  - {name: s3, type: metadata, properties: {s3.endpoint: 'http://%[2]s', s3.region: x, s3.access-key-id: a, s3.secret-access-key_file: %[3]s, s3.session-token: '%[1]s'}, tables: [{name: n.t, location: 's3://b/t/metadata/v1.metadata.json?sig=%[1]s'}]}
  - {name: adls, type: metadata, properties: {'adls.sas-token.a': 'sv=1&sig=%[1]s', adls.endpoint: '%[2]s', adls.protocol: http}, tables: [{name: n.t, location: 'abfss://c@a.dfs.core.windows.net/t'}]}
`, secret, refused, file))
	status := map[string]string{}
	for _, path := range []string{"/metrics", "/config", "/", "/targets", "/probe?target=rest.n.t", "/probe?target=no.such." + "table"} {
		_, status[path] = p.get(path)
	}
	for catalog := range strings.FieldsSeq("rest token sql sqlfile hive glue s3 adls") {
		series := fmt.Sprintf(`iceberg_table_up{catalog=%q,namespace="n",table="t"} 0`, catalog)
		if !strings.Contains(status["/metrics"], series) {
			t.Errorf("/metrics lacks %s", series)
		}
	}
	status["the log"] = p.log.String()
	for where, text := range status {
		if strings.Contains(text, secret) {
			at := strings.Index(text, secret)
			t.Errorf("%s shows a secret: ...%s...", where, text[max(0, at-200):min(len(text), at+50)])
		}
	}
	if !strings.Contains(status["/config"], "<secret>") || !strings.Contains(status["/config"], "eu-west-1") {
		t.Errorf("/config is %s", status["/config"])
	}
	if t.Failed() {
		t.Log(status["the log"])
	}
}

// TestHostileTables: whatever a table directory holds, the exporter says what is
// wrong with it, and serves the others.
func TestHostileTables(t *testing.T) {
	root := t.TempDir()
	sample := filepath.Join(repository(t), "testdata", "warehouse", "sales", "prices")
	write := func(table, name, text string) {
		file := filepath.Join(root, "n", table, "metadata", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table := func(list string) string {
		return fmt.Sprintf(`{"format-version": 2, "location": "/t", "current-snapshot-id": 1, "snapshots": [{"snapshot-id": 1, "parent-snapshot-id": 1, "timestamp-ms": 1, "manifest-list": %q}]}`, list)
	}
	want := map[string]string{
		"damaged":    "corrupt metadata",
		"version9":   "format version 9",
		"large":      "larger than the limit",
		"nolist":     "no such file",
		"device":     "not a regular file",
		"secretfile": "not an Avro file",
		"otherstore": "gopher",
		"overflow":   "corrupt metadata",
	}
	write("damaged", "v1.metadata.json", `{"format-version": 2, "snap`)
	write("version9", "v1.metadata.json", `{"format-version": 9}`)
	write("large", "v1.metadata.json", `{"format-version": 2, "x": "`+strings.Repeat("a", 100<<20)+`"}`)
	write("nolist", "v1.metadata.json", table("/t/metadata/gone.avro"))
	write("device", "v1.metadata.json", table("/dev/zero"))
	write("secretfile", "v1.metadata.json", table("/etc/passwd"))
	write("otherstore", "v1.metadata.json", table("gopher://host/x"))
	write("overflow", "v1.metadata.json", `{"format-version": 2, "snapshots": [{"snapshot-id": 99999999999999999999999}]}`)
	if err := os.CopyFS(filepath.Join(root, "n", "good"), os.DirFS(sample)); err != nil {
		t.Fatal(err)
	}
	p := start(t, fmt.Sprintf("catalogs: [{name: c, type: hadoop, warehouse: %s, allow_moved_paths: true}]", root))
	published := p.scrape("/metrics")
	up := func(table string) float64 {
		return published[fmt.Sprintf(`iceberg_table_up{catalog="c",namespace="n",table=%q}`, table)]
	}
	if up("good") != 1 {
		t.Error("the good table is not served")
	}
	for name, text := range want {
		if up(name) != 0 {
			t.Errorf("%s is up", name)
		}
		found := false
		for line := range strings.Lines(p.log.String()) {
			found = found || strings.Contains(line, "table=n."+name+" ") && strings.Contains(line, text) && strings.Contains(line, "hint=")
		}
		if !found {
			t.Errorf("%s: the log does not tell of %q", name, text)
		}
	}
	if t.Failed() {
		t.Log(p.log)
	}
}

// TestCheck: the check command prints cards and tells by its status.
func TestCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yml")
	configuration := strings.ReplaceAll(sampleConfiguration, "testdata/warehouse", filepath.Join(repository(t), "testdata", "warehouse"))
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		output string
	}{
		{[]string{"sample.sales.orders"}, 0, "within its limits"},
		{[]string{"sample.sales.orders", "sample.streaming.clicks"}, 1, "CALL sample.system.rewrite_data_files(table => 'streaming.clicks');"},
		{nil, 1, "sample.lab.empty"},
		{[]string{"--output=json", "sample.sales.orders"}, 0, `"table": "orders"`},
		{[]string{"sample.sales.no_such"}, 1, "not measured"},
		{[]string{"other.sales.orders"}, 2, "covers no table"},
		{[]string{"--output=yaml"}, 2, "must be one of"},
	} {
		output, status := program(t, append([]string{"check", "--config.file=" + file, "--log.level=error"}, c.args...)...)
		if status != c.status || !strings.Contains(output, c.output) || strings.Contains(output, "\x1b[") {
			t.Errorf("%q: status %d: %s", c.args, status, output)
		}
	}
}
