package collector_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/collector"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

var update = flag.Bool("update", false, "write the documentation anew")

const metricsPage = "../docs/metrics.md"

// TestDocs compares the page of the metrics with the descriptions in the code.
func TestDocs(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Metrics

<!-- Generated from the descriptions in collector/ by go test ./collector -run TestDocs -update. Do not edit. -->

Every series about a table carries the labels ` + "`catalog`, `namespace` (its levels joined with `.`) and `table`" + `, which identify the table
everywhere. What is not known is left out: it is never 0, -1 or NaN. Sizes are bytes, times are Unix seconds, ratios are 0 to 1.
No path, snapshot id or error text is a label, but for the table's location in ` + "`iceberg_table_info`" + `.

Besides these, the exporter publishes ` + "`iceberg_exporter_build_info`" + ` and the metrics of the Go runtime and of its process.
`)
	group := ""
	metrics := append(collector.NewTables(func() refresh.Snapshot { return refresh.Snapshot{} }).Metrics(),
		collector.NewExporter(func() collector.ExporterStats { return collector.ExporterStats{} }).Metrics()...)
	for _, m := range metrics {
		if m.Group != group {
			group = m.Group
			fmt.Fprintf(&page, "\n## %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", group)
		}
		var labels []string
		shown := m.Labels
		if m.Scope == collector.PerCatalog {
			shown = m.AllLabels()
		}
		for _, l := range shown {
			labels = append(labels, "`"+l+"`")
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, strings.Join(labels, ", "), m.Help)
	}
	if *update {
		if err := os.WriteFile(metricsPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page.String() {
		t.Errorf("%s is not what the code says; run the test with -update", metricsPage)
	}
}
