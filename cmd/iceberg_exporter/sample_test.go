package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

const sampleConfiguration = `
partitions_top: 3
catalogs:
  - name: sample
    type: hadoop
    warehouse: testdata/warehouse
    allow_moved_paths: true
`

// answers are what the engine says of a table; see testdata/README.md.
type answers struct {
	DataFiles struct {
		Files, Bytes, Records int64
		Small                 int64    `json:"files_below_128_mib"`
		Average               *float64 `json:"average_bytes"`
		Smallest              *float64 `json:"smallest_bytes"`
		Largest               *float64 `json:"largest_bytes"`
	} `json:"data_files"`
	PositionDeletes deleteAnswers `json:"position_delete_files"`
	EqualityDeletes deleteAnswers `json:"equality_delete_files"`
	DeletionVectors deleteAnswers `json:"deletion_vectors"`
	Manifests       map[string]struct{ Bytes, Files int64 }
	Snapshots       struct {
		ByOperation map[string]int64 `json:"by_operation"`
		Count       int64
		Current     *float64 `json:"current_committed_at_ms"`
		Oldest      *float64 `json:"oldest_committed_at_ms"`
	}
	Refs           map[string]int64
	LastCompaction struct {
		Appends *int64   `json:"appends_since"`
		At      *float64 `json:"committed_at_ms"`
	} `json:"last_compaction"`
	MetadataLogEntries int64 `json:"metadata_log_entries"`
	Partitions         []struct {
		Bytes, Files int64
		// Partition has the fields of all specs, null where a spec lacks one.
		Partition map[string]*string
	}
	PartitionsDistinct int64 `json:"partitions_distinct"`
	FromMetadataFile   struct {
		FormatVersion  int    `json:"format_version"`
		PartitionSpecs int64  `json:"partition_specs"`
		Schemas        int64  `json:"schemas"`
		UUID           string `json:"table_uuid"`
		Location       string `json:"location"`
	} `json:"from_metadata_file"`
}

type deleteAnswers struct{ Files, Bytes, Records int64 }

// TestSampleEqualsEngine compares every figure that the engine tells of the
// sample tables with what the exporter publishes.
func TestSampleEqualsEngine(t *testing.T) {
	published := start(t, sampleConfiguration).scrape("/metrics")
	files, err := filepath.Glob(filepath.Join(repository(t), "testdata", "engine", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("the engine's answers are missing", err)
	}
	for _, file := range files {
		table := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(table, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want answers
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			compare(t, published, table, want)
		})
	}
}

func compare(t *testing.T, published samples, table string, want answers) {
	namespace, name, _ := strings.Cut(table, ".")
	key := func(metric, label, value string) string {
		labels := []string{`catalog="sample"`, fmt.Sprintf("namespace=%q", namespace), fmt.Sprintf("table=%q", name)}
		if label != "" {
			labels = append(labels, fmt.Sprintf("%s=%q", label, value))
			slices.Sort(labels)
		}
		return metric + "{" + strings.Join(labels, ",") + "}"
	}
	check := func(metric, label, value string, want *float64) {
		t.Helper()
		got, ok := published[key(metric, label, value)]
		switch {
		case want == nil && ok:
			t.Errorf("%s %s: got %v, but the engine knows none", metric, value, got)
		case want != nil && !ok:
			t.Errorf("%s %s: is missing, want %v", metric, value, *want)
		case want != nil && math.Abs(got-*want) > 1e-9*math.Abs(*want):
			t.Errorf("%s %s: got %v, want %v", metric, value, got, *want)
		}
	}
	number := func(n int64) *float64 { f := float64(n); return &f }
	seconds := func(ms *float64) *float64 {
		if ms == nil {
			return nil
		}
		s := *ms / 1000
		return &s
	}

	check("iceberg_table_up", "", "", number(1))
	check("iceberg_table_data_files", "", "", number(want.DataFiles.Files))
	check("iceberg_table_data_bytes", "", "", number(want.DataFiles.Bytes))
	check("iceberg_table_records", "", "", number(want.DataFiles.Records))
	check("iceberg_table_small_data_files", "", "", number(want.DataFiles.Small))
	check("iceberg_table_data_file_average_bytes", "", "", want.DataFiles.Average)
	check("iceberg_table_data_file_min_bytes", "", "", want.DataFiles.Smallest)
	check("iceberg_table_data_file_max_bytes", "", "", want.DataFiles.Largest)
	check("iceberg_table_data_file_size_bytes_count", "", "", number(want.DataFiles.Files))
	check("iceberg_table_data_file_size_bytes_sum", "", "", number(want.DataFiles.Bytes))
	check("iceberg_table_partitions", "", "", number(want.PartitionsDistinct))
	for content, deletes := range map[string]deleteAnswers{
		"position_deletes": want.PositionDeletes, "equality_deletes": want.EqualityDeletes, "deletion_vectors": want.DeletionVectors,
	} {
		check("iceberg_table_delete_files", "content", content, number(deletes.Files))
		check("iceberg_table_delete_bytes", "content", content, number(deletes.Bytes))
		check("iceberg_table_delete_records", "content", content, number(deletes.Records))
	}
	for content, manifests := range want.Manifests {
		check("iceberg_table_manifests", "content", content, number(manifests.Files))
		check("iceberg_table_manifest_bytes", "content", content, number(manifests.Bytes))
	}
	check("iceberg_table_snapshots", "", "", number(want.Snapshots.Count))
	for _, operation := range []string{"append", "overwrite", "replace", "delete"} {
		var count *float64
		if n, ok := want.Snapshots.ByOperation[operation]; ok {
			count = number(n)
		}
		check("iceberg_table_snapshot_operations", "operation", operation, count)
	}
	check("iceberg_table_current_snapshot_timestamp_seconds", "", "", seconds(want.Snapshots.Current))
	check("iceberg_table_oldest_snapshot_timestamp_seconds", "", "", seconds(want.Snapshots.Oldest))
	check("iceberg_table_refs", "ref_type", "branch", number(want.Refs["branch"]))
	check("iceberg_table_refs", "ref_type", "tag", number(want.Refs["tag"]))
	check("iceberg_table_last_compaction_timestamp_seconds", "", "", seconds(want.LastCompaction.At))
	if want.LastCompaction.Appends != nil {
		check("iceberg_table_appends_since_compaction", "", "", number(*want.LastCompaction.Appends))
	}
	// The engine counts the current metadata file too.
	check("iceberg_table_metadata_log_entries", "", "", number(want.MetadataLogEntries-1))
	check("iceberg_table_partition_specs", "", "", number(want.FromMetadataFile.PartitionSpecs))
	check("iceberg_table_schemas", "", "", number(want.FromMetadataFile.Schemas))

	// The worst partitions: GROUP BY partition ORDER BY file_count DESC.
	type figures struct{ files, bytes float64 }
	var engine, exporter []figures
	grouped := map[string]figures{}
	for _, p := range want.Partitions {
		group, err := json.Marshal(p.Partition)
		if err != nil {
			t.Fatal(err)
		}
		sum := grouped[string(group)]
		grouped[string(group)] = figures{sum.files + float64(p.Files), sum.bytes + float64(p.Bytes)}
	}
	for _, p := range grouped {
		engine = append(engine, p)
	}
	for series, value := range published {
		if strings.HasPrefix(series, "iceberg_table_partition_data_files{") && strings.Contains(series, fmt.Sprintf(`namespace=%q`, namespace)) && strings.Contains(series, fmt.Sprintf(`table=%q`, name)) {
			exporter = append(exporter, figures{value, published[strings.Replace(series, "_data_files{", "_data_bytes{", 1)]})
		}
	}
	order := func(a, b figures) int { return cmp.Or(cmp.Compare(b.files, a.files), cmp.Compare(a.bytes, b.bytes)) }
	slices.SortFunc(engine, order)
	slices.SortFunc(exporter, order)
	if engine = engine[:min(3, len(engine))]; !slices.Equal(engine, exporter) {
		t.Errorf("worst partitions: got %v, want %v", exporter, engine)
	}
}

// unsteady matches the series that are different at every run.
var unsteady = regexp.MustCompile(`^(go_|process_|iceberg_exporter_|iceberg_table_refresh_duration_seconds|iceberg_table_last_refresh_success_timestamp_seconds|iceberg_table_snapshot_age_seconds|iceberg_table_recent_)`)

// TestSampleGolden compares everything that is published for the sample tables
// with a golden file, of the built binary.
func TestSampleGolden(t *testing.T) {
	_, body := start(t, sampleConfiguration).get("/metrics?collect[]=tables")
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if !unsteady.MatchString(name) {
			lines = append(lines, line)
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	golden := filepath.Join("testdata", "sample.prom")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("/metrics differs from %s; run the test with -update and look at the difference", golden)
	}
}

// TestPromtoolAcceptsMetrics has Prometheus' own tool check what is published.
func TestPromtoolAcceptsMetrics(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: it comes with Prometheus")
	}
	_, body := start(t, sampleConfiguration).get("/metrics")
	command := exec.Command(promtool, "check", "metrics")
	command.Stdin = strings.NewReader(body)
	if output, err := command.CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, output)
	}
}
