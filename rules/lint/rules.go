package lint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// levels are the labels that the first part of a recording rule's name stands for.
var levels = map[string]set{
	"table":           setOf("catalog", "namespace", "table"),
	"table_threshold": setOf("catalog", "namespace", "table", "threshold"),
}

type rule = rulefmt.Rule

// readRules reads all rule files that match a pattern.
func readRules(pattern string) ([]rule, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file matches %s", pattern)
	}
	var rules []rule
	for _, file := range files {
		groups, errs := rulefmt.ParseFile(file, false, model.LegacyValidation, promQL, slog.Default())
		if len(errs) > 0 {
			return nil, errors.Join(errs...)
		}
		for _, group := range groups.Groups {
			rules = append(rules, group.Rules...)
		}
	}
	return rules, nil
}

// checkRules checks recording rules, then alerts, and adds the series of both to the metrics.
// Runbooks are looked for under root.
func (c *checker) checkRules(rules []rule, root string) {
	for _, r := range rules {
		if r.Record == "" {
			continue
		}
		if c.records[r.Record] != "" {
			c.note("two rules record %s", r.Record)
		}
		if len(r.Labels) > 0 {
			c.note("%s adds labels, which is not looked into here", r.Record)
		}
		c.records[r.Record] = r.Expr
	}
	for _, name := range slices.Sorted(maps.Keys(c.records)) {
		c.record(name)
	}
	all := set{}
	for _, r := range rules {
		if r.Alert != "" {
			c.at(r.Alert, func() { all = all.or(c.alert(r, root)) })
		}
	}
	// The series that Prometheus makes of alerts. Which of the labels one has depends on the alert.
	all = all.or(setOf("alertname"))
	c.metrics["ALERTS_FOR_STATE"] = vector{labels: all, key: all}
	all = all.or(setOf("alertstate"))
	c.metrics["ALERTS"] = vector{labels: all, key: all}
}

// record infers the series of a recording rule, after those of the rules that it uses.
func (c *checker) record(name string) (vector, bool) {
	expression, ok := c.records[name]
	if !ok {
		return vector{}, false
	}
	if v, known := c.metrics[name]; known {
		return v, true
	}
	c.metrics[name] = vector{} // Ends a circle of rules.
	c.at(name, func() {
		v := c.check(expression)
		c.metrics[name] = v
		level, rest, _ := strings.Cut(name, ":")
		if !strings.Contains(rest, ":") || levels[level] == nil {
			c.note("the name is not level:metric:operation, or its level is not known")
		} else if !maps.Equal(v.labels, levels[level]) {
			c.note("the level %s stands for (%s), but the series have (%s)", level, levels[level], v.labels)
		}
	})
	return c.metrics[name], true
}

// alert checks an alert and returns the labels that it fires with.
func (c *checker) alert(r rule, root string) set {
	v := c.check(r.Expr)
	fires := map[string]string{}
	for label := range v.labels {
		fires[label] = "some " + label
		if known := v.values[label]; len(known) == 1 {
			fires[label] = known.String()
		}
	}
	for label, text := range r.Labels {
		if v.distinguishing()[label] {
			c.note("sets the label %s, which tells its series apart", label)
		}
		fires[label] = text
	}
	if !setOf("critical", "warning", "info")[r.Labels["severity"]] {
		c.note("the severity is %q", r.Labels["severity"])
	}
	for _, name := range []string{"summary", "description", "runbook_url"} {
		if r.Annotations[name] == "" {
			c.note("there is no annotation %s", name)
		}
	}
	runbook := "docs/runbooks/" + r.Alert + ".md"
	if url := r.Annotations["runbook_url"]; url != repository+runbook {
		c.note("the runbook is not %s: %s", runbook, url)
	} else if _, err := os.Stat(filepath.Join(root, runbook)); err != nil {
		c.note("the runbook does not exist: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Annotations)) {
		c.at(r.Alert+", "+name, func() { c.template(r.Annotations[name], fires) })
	}
	names := set{}
	for label := range fires {
		names[label] = true
	}
	return names
}

var otherwise = regexp.MustCompile(`\{\{-?\s*else`)

// template executes an annotation as Prometheus does, but fails on a label that the alert does not have,
// and checks the queries that it makes.
func (c *checker) template(text string, fires map[string]string) {
	if otherwise.MatchString(text) {
		c.note("a template with an else is not looked into here")
	}
	query := func(_ context.Context, expression string, _ time.Time) (promql.Vector, error) {
		v := c.check(expression)
		var some []labels.Label
		for label := range v.labels {
			some = append(some, labels.Label{Name: label, Value: "some " + label})
		}
		return promql.Vector{{Metric: labels.New(some...), F: 1}}, nil
	}
	const head = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	data := template.AlertTemplateData(fires, nil, "", promql.Sample{F: 1})
	_, err := template.NewTemplateExpander(context.Background(), head+text, "annotation", data, 0, query, nil, []string{"missingkey=error"}).Expand()
	if err != nil {
		c.note("%v", err)
	}
}
