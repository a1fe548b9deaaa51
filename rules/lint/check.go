// Package lint checks the PromQL of the rules and the dashboards against what the exporter publishes.
package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

// checker infers what the series of PromQL expressions look like, and notes what cannot be right.
type checker struct {
	// metrics are the series that there are, by name.
	metrics map[string]vector
	// records are the expressions of the recording rules. Their series join the metrics when they are needed.
	records  map[string]string
	where    string
	problems []string
}

func newChecker(metrics ...map[string]vector) *checker {
	c := &checker{metrics: map[string]vector{}, records: map[string]string{}}
	for _, some := range metrics {
		maps.Copy(c.metrics, some)
	}
	return c
}

// at runs a check, and has its problems say where they are.
func (c *checker) at(where string, check func()) {
	before := c.where
	defer func() { c.where = before }()
	c.where = where + ": "
	check()
}

func (c *checker) note(format string, args ...any) {
	problem := c.where + fmt.Sprintf(format, args...)
	if !slices.Contains(c.problems, problem) {
		c.problems = append(c.problems, problem)
	}
}

// check infers the result of an expression. A scalar gives a vector without labels.
func (c *checker) check(expression string) vector {
	parsed, err := promQL.ParseExpr(expression)
	if err != nil {
		c.note("%v: %s", err, expression)
		return vector{}
	}
	result := c.infer(parsed)
	if result == nil {
		return vector{}
	}
	return *result
}

// infer gives nil for scalars and strings.
func (c *checker) infer(e parser.Expr) *vector {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return c.infer(e.Expr)
	case *parser.UnaryExpr:
		return c.infer(e.Expr)
	case *parser.SubqueryExpr:
		return c.infer(e.Expr)
	case *parser.MatrixSelector:
		return c.infer(e.VectorSelector)
	case *parser.VectorSelector:
		return c.selector(e)
	case *parser.AggregateExpr:
		return c.aggregation(e)
	case *parser.BinaryExpr:
		return c.binary(e)
	case *parser.Call:
		return c.call(e)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return nil
	default:
		c.note("%T is not known here: %s", e, short(e))
		return nil
	}
}

func (c *checker) selector(e *parser.VectorSelector) *vector {
	name := e.Name
	for _, m := range e.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			name = m.Value
		}
	}
	metric, ok := c.record(name)
	if !ok {
		metric, ok = c.metrics[name]
	}
	if !ok {
		c.note("no metric is called %s: %s", name, short(e))
		return &vector{}
	}
	for _, m := range e.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel:
		case !metric.labels[m.Name]:
			c.note("%s has no label %s: %s", name, m.Name, short(e))
		case m.Type == labels.MatchEqual && m.Value != "":
			if known := metric.values[m.Name]; known != nil && !known[m.Value] {
				c.note("the label %s of %s is never %q, but one of %s: %s", m.Name, name, m.Value, known, short(e))
			}
			metric = metric.with(m.Name, m.Value)
		}
	}
	return &metric
}

func (c *checker) aggregation(e *parser.AggregateExpr) *vector {
	inner := c.infer(e.Expr)
	if inner == nil { // Noted already.
		return &vector{}
	}
	if e.Param != nil {
		c.infer(e.Param)
	}
	by := setOf(e.Grouping...)
	for label := range by.minus(inner.labels) {
		c.note("groups by %s, which is not there: %s", label, short(e))
	}
	if e.Without {
		by = inner.labels.or(inner.key).minus(by)
	}
	switch e.Op {
	case parser.SUM, parser.COUNT, parser.COUNT_VALUES, parser.TOPK, parser.BOTTOMK:
		// These take a table once for each exporter that reads it, unless the exporters are kept apart. Alerts
		// are not what an exporter says.
		if inner.labels["catalog"] && inner.distinguishing()["instance"] && !by["instance"] && !inner.labels["alertname"] {
			c.note("counts a table once for each exporter that reads it; take max by (...) first: %s", short(e))
		}
	}
	var result vector
	switch {
	case e.Op == parser.TOPK, e.Op == parser.BOTTOMK, e.Op == parser.LIMITK, e.Op == parser.LIMIT_RATIO:
		return inner
	case e.Without:
		result = inner.drop(setOf(e.Grouping...))
	default:
		result = inner.keep(by)
	}
	if e.Op == parser.COUNT_VALUES {
		label := setOf(e.Param.(*parser.StringLiteral).Val)
		result = vector{labels: result.labels.or(label), key: result.key.or(label), values: result.values}
	}
	return &result
}

func (c *checker) binary(e *parser.BinaryExpr) *vector {
	left, right := c.infer(e.LHS), c.infer(e.RHS)
	if left == nil {
		return right
	}
	if right == nil {
		return left
	}
	match := e.VectorMatching
	on := setOf(match.MatchingLabels...)
	if match.On {
		for label := range on.minus(left.labels.and(right.labels)) {
			c.note("joins on %s, which is not on both sides: %s", label, short(e))
		}
	} else {
		ignored := on
		on = left.labels.or(left.key).or(right.labels).or(right.key).minus(ignored)
		// `a or b` may well be of two kinds.
		if left, right := left.labels.minus(ignored), right.labels.minus(ignored); e.Op != parser.LOR && !maps.Equal(left, right) {
			c.note("the sides never match: one has the labels (%s), the other (%s): %s", left, right, short(e))
		}
	}
	if missing := identity.and(left.labels).and(right.labels).minus(on); len(missing) > 0 {
		c.note("joins without %s, so different tables match: %s", missing, short(e))
	}
	switch e.Op {
	case parser.LAND, parser.LUNLESS:
		return left
	case parser.LOR:
		return either(left, right, on)
	}
	one, many := right, left
	switch match.Card {
	case parser.CardOneToOne:
		c.unique("left", left, on, e)
		c.unique("right", right, on, e)
		result := left.keep(on)
		return &result
	case parser.CardOneToMany:
		one, many = left, right
		c.unique("left", one, on, e)
	default:
		c.unique("right", one, on, e)
	}
	return c.grouped(one, many, setOf(match.Include...), e)
}

// unique notes when several series of one side can have the same labels to join on.
func (c *checker) unique(side string, v *vector, on set, e parser.Expr) {
	if more := v.distinguishing().minus(on); len(more) > 0 {
		c.note("several series of the %s side can match, as it is not aggregated over %s: %s", side, more, short(e))
	}
}

// grouped is the result of group_left or group_right: the many, with labels of the one.
func (c *checker) grouped(one, many *vector, include set, e parser.Expr) *vector {
	for label := range include.minus(one.labels) {
		c.note("takes %s from a side that has no such label: %s", label, short(e))
	}
	if taken := include.and(many.distinguishing()); len(taken) > 0 {
		c.note("overwrites %s, which tells the series apart: %s", taken, short(e))
	}
	result := *many
	for label := range include.and(one.labels) {
		result = result.with(label, "")
		if known := one.values[label]; known != nil {
			result.values[label] = known
		}
	}
	return &result
}

// either is the result of `or`.
func either(left, right *vector, on set) *vector {
	result := vector{labels: left.labels.and(right.labels), values: map[string]set{}}
	for label, known := range left.values {
		if more := right.values[label]; more != nil && result.labels[label] {
			result.values[label] = known.or(more)
		}
	}
	// A series of the right side is left out where one of the left agrees in these labels.
	result.key = on
	if len(left.distinguishing().or(right.distinguishing()).minus(on)) > 0 {
		result.key = left.labels.or(left.key).or(right.labels).or(right.key)
	}
	return &result
}

func (c *checker) call(e *parser.Call) *vector {
	if e.Type() == parser.ValueTypeScalar {
		for _, argument := range e.Args {
			c.infer(argument)
		}
		return nil
	}
	var v *vector
	for _, argument := range e.Args {
		if of := c.infer(argument); of != nil {
			v = of
		}
	}
	if v == nil { // vector(1), hour(), ...
		return &vector{labels: set{}, key: set{}}
	}
	switch e.Func.Name {
	case "absent", "absent_over_time":
		// One series, with the labels that the argument says.
		said := vector{labels: set{}, key: set{}}
		for label, known := range v.values {
			if len(known) == 1 {
				said = said.with(label, known.String())
			}
		}
		return &said
	case "label_replace", "label_join":
		return c.relabel(e, *v)
	case "histogram_quantile", "histogram_fraction":
		if !v.labels["le"] {
			c.note("%s needs the label le: %s", e.Func.Name, short(e))
		}
		result := v.drop(setOf("le"))
		return &result
	default:
		return v
	}
}

// relabel is the result of label_replace and label_join.
func (c *checker) relabel(e *parser.Call, v vector) *vector {
	text := func(i int) string { return e.Args[i].(*parser.StringLiteral).Val }
	target, constant := text(1), ""
	var from []string
	if e.Func.Name == "label_replace" {
		from = []string{text(3)}
		if text(3) == "" {
			constant = text(2)
		}
	} else {
		for i := 3; i < len(e.Args); i++ {
			from = append(from, text(i))
		}
	}
	for _, label := range from {
		if label != "" && !v.labels[label] {
			c.note("takes %s, which is not there: %s", label, short(e))
		}
	}
	if v.distinguishing()[target] {
		c.note("overwrites %s, which tells the series apart: %s", target, short(e))
	}
	result := v.with(target, constant)
	return &result
}

// short is an expression for a message.
func short(e parser.Expr) string {
	const most = 160
	text := []rune(strings.Join(strings.Fields(e.String()), " "))
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}
