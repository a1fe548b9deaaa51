package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestRulesAndDashboards(t *testing.T) {
	c := newChecker(published(t))
	rules, err := readRules(filepath.Join(root, "rules/*.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	c.checkRules(rules, root)
	dashboards, err := readDashboards(filepath.Join(root, "dashboards/iceberg-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	c.checkDashboards(dashboards, root)
	for _, problem := range c.problems {
		t.Error(problem)
	}
	t.Logf("%d rules and %d dashboards, over %d metrics", len(rules), len(dashboards), len(c.metrics))
}

func TestRunbooks(t *testing.T) {
	rules, err := readRules(filepath.Join(root, "rules/*.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	runbooks, _ := filepath.Glob(filepath.Join(root, "docs/runbooks/Iceberg*.md"))
	for _, name := range forgotten(rules, runbooks) {
		t.Errorf("no alert is called %s, but there is a runbook", name)
	}
}

// forgotten are the names of runbooks that are of no alert.
func forgotten(rules []rule, runbooks []string) []string {
	alerts := set{}
	for _, r := range rules {
		alerts[r.Alert] = true
	}
	var names []string
	for _, runbook := range runbooks {
		if name := strings.TrimSuffix(filepath.Base(runbook), ".md"); !alerts[name] {
			names = append(names, name)
		}
	}
	return names
}

// published are the metrics of the exporter and those that Prometheus adds.
func published(t *testing.T) map[string]vector {
	t.Helper()
	metrics := documented(read(t, "docs/metrics.md"))
	if len(metrics) == 0 {
		t.Fatal("docs/metrics.md has no metrics")
	}
	names, err := limits(read(t, "config.example.yml"))
	if err != nil {
		t.Fatal(err)
	}
	metrics["iceberg_table_threshold"].values["threshold"] = names
	process, err := ofTheProcess()
	if err != nil {
		t.Fatal(err)
	}
	return newChecker(metrics, process, ofPrometheus()).metrics
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
