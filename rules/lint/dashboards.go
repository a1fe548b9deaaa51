package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// repository is where the links of alerts and dashboards to this project's pages lead.
const repository = "https://github.com/iceberg-exporter/iceberg_exporter/blob/main/"

// dashboard is what there is to check of a dashboard.
type dashboard struct {
	UID        string
	Panels     []panel
	Templating struct {
		List []struct{ Type, Name, Query string }
	}
	Annotations struct {
		List []struct {
			Name   string
			Target target
		}
	}
	// text is the whole of it.
	text string
}

type panel struct {
	Title   string
	Targets []target
	Panels  []panel // Those of a folded row.
}

type target struct{ RefID, Expr, LegendFormat string }

func parseDashboard(text []byte) (dashboard, error) {
	d := dashboard{text: string(text)}
	err := json.Unmarshal(text, &d)
	if err == nil && len(d.Panels) == 0 {
		err = fmt.Errorf("there are no panels")
	}
	return d, err
}

// readDashboards reads all dashboards that match a pattern.
func readDashboards(pattern string) ([]dashboard, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file matches %s", pattern)
	}
	var dashboards []dashboard
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d, err := parseDashboard(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		dashboards = append(dashboards, d)
	}
	return dashboards, nil
}

// builtIn are Grafana's own variables that stand for durations.
var builtIn = map[string]string{"__rate_interval": "1m", "__interval": "15s", "__range": "1h"}

var (
	variable    = regexp.MustCompile(`\$\{?(\w+)(?::\w+)?\}?`)
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	inLegend    = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	link        = regexp.MustCompile(`"url":\s*"([^"]*)"`)
)

// checkDashboards checks the queries of dashboards, and where their links lead: to each other, and to pages under root.
func (c *checker) checkDashboards(dashboards []dashboard, root string) {
	variables := map[string]set{}
	for _, d := range dashboards {
		variables[d.UID] = set{}
		for _, v := range d.Templating.List {
			variables[d.UID][v.Name] = true
		}
	}
	for _, d := range dashboards {
		values := maps.Clone(builtIn)
		for name := range variables[d.UID] {
			values[name] = "some " + name
		}
		for _, v := range d.Templating.List {
			if v.Type == "textbox" { // Its query is what it says at first.
				values[v.Name] = v.Query
			}
		}
		for _, v := range d.Templating.List {
			if v.Type == "query" {
				c.at(d.UID+", variable "+v.Name, func() { c.variable(v.Query, values) })
			}
		}
		for _, a := range d.Annotations.List {
			c.at(d.UID+", annotation "+a.Name, func() { c.target(a.Target, values) })
		}
		c.panels(d.UID, d.Panels, values)
		c.at(d.UID, func() { c.links(d.text, variables, root) })
	}
}

func (c *checker) panels(uid string, panels []panel, values map[string]string) {
	for _, p := range panels {
		for _, t := range p.Targets {
			c.at(uid+", "+p.Title+", "+t.RefID, func() { c.target(t, values) })
		}
		c.panels(uid, p.Panels, values)
	}
}

func (c *checker) target(t target, values map[string]string) {
	v := c.check(c.substitute(t.Expr, values))
	for _, label := range inLegend.FindAllStringSubmatch(t.LegendFormat, -1) {
		if !v.labels[label[1]] {
			c.note("the legend names %s, which the query drops: %s", label[1], t.Expr)
		}
	}
}

// variable checks the query that lists the values of a variable.
func (c *checker) variable(query string, values map[string]string) {
	call := labelValues.FindStringSubmatch(query)
	if call == nil {
		c.note("the query is not label_values(selector, label): %s", query)
		return
	}
	if v := c.check(c.substitute(call[1], values)); !v.labels[call[2]] {
		c.note("the series have no label %s: %s", call[2], query)
	}
}

func (c *checker) substitute(expression string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(expression, func(name string) string {
		value, known := values[variable.FindStringSubmatch(name)[1]]
		if !known {
			c.note("there is no variable %s: %s", name, expression)
		}
		return value
	})
}

// links checks the links in the JSON of a dashboard.
func (c *checker) links(text string, variables map[string]set, root string) {
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		var to string
		if err := json.Unmarshal([]byte(`"`+match[1]+`"`), &to); err != nil {
			c.note("%v: %s", err, match[1])
			continue
		}
		switch page, here := strings.CutPrefix(to, repository); {
		case here:
			// A runbook of each alert is checked with the alert.
			page = strings.ReplaceAll(page, "${__data.fields.Alert}", "README")
			if _, err := os.Stat(filepath.Join(root, page)); err != nil {
				c.note("a link leads nowhere: %v", err)
			}
		case strings.HasPrefix(to, "/d/"):
			uid, query, _ := strings.Cut(strings.TrimPrefix(to, "/d/"), "?")
			if variables[uid] == nil {
				c.note("a link leads to no dashboard: %s", to)
				continue
			}
			for parameter := range strings.SplitSeq(query, "&") {
				name, sets := strings.CutPrefix(parameter, "var-")
				name, _, _ = strings.Cut(name, "=")
				if sets && !variables[uid][name] {
					c.note("%s has no variable %s: %s", uid, name, to)
				}
			}
		default:
			if _, err := url.Parse(to); err != nil || !strings.HasPrefix(to, "https://") {
				c.note("a link is neither to a dashboard nor to a page: %s", to)
			}
		}
	}
}
