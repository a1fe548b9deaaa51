package card

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Width is how many columns a card takes, but for long names and commands.
const Width = 80

// Colours of a terminal.
const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
)

// WriteText writes a card for people, in colour where that is wanted.
func (c Card) WriteText(w io.Writer, colour bool) error {
	paint := func(code, text string) string {
		if !colour {
			return text
		}
		return code + text + plain
	}
	var b strings.Builder
	verdict := "within its limits"
	switch n := c.Crossed(); {
	case c.Error != "":
		verdict = "not measured"
	case n == 1:
		verdict = "1 limit crossed"
	case n > 1:
		verdict = fmt.Sprintf("%d limits crossed", n)
	}
	name := strings.Join([]string{c.Catalog, c.Namespace, c.Table}, ".")
	code := green
	if c.IsOver() {
		code = red
	}
	fmt.Fprintf(&b, "%s%s%s\n", paint(bold, name), strings.Repeat(" ", max(1, Width-len(name)-len(verdict))), paint(code, verdict))
	if c.Error != "" {
		fmt.Fprintf(&b, "  %s\n", c.Error)
	}
	for i, line := range c.Lines {
		for j, f := range line.Figures {
			heading := ""
			if j == 0 {
				heading = fmt.Sprintf("%d %s", i+1, line.Name)
			}
			mark := ""
			switch f.Verdict {
			case Over:
				mark = paint(red, "OVER")
			case OK:
				mark = paint(green, "ok")
			case Ignored:
				mark = "-"
			case None:
			}
			if f.Unit == Text || f.Value == nil {
				fmt.Fprintf(&b, "  %-16s %-29s %s\n", heading, f.Name, wrap(f.Text, textColumn))
				continue
			}
			row := fmt.Sprintf("  %-16s %-29s %10s  %-14s ", heading, f.Name, f.valueText(), f.limitText())
			b.WriteString(strings.TrimRight(row+mark, " ") + "\n")
		}
	}
	if len(c.Commands) > 0 {
		b.WriteString("  next, in this order:\n")
		for _, command := range c.Commands {
			b.WriteString("    " + command + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// textColumn is where a text stands that takes the place of a value.
const textColumn = 49

// wrap breaks a text at spaces, so that it stays within the card's width from
// this column on.
func wrap(text string, column int) string {
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(text) {
		switch n := len([]rune(word)); {
		case i == 0:
			at += n
		case at+1+n > Width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column + n
		default:
			b.WriteString(" ")
			at += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

func (f Figure) valueText() string {
	if f.Value == nil {
		return ""
	}
	return f.Unit.text(*f.Value)
}

func (f Figure) limitText() string {
	switch {
	case f.Limit == nil:
		return ""
	case f.AtLeast:
		return "≥ " + f.Unit.text(*f.Limit)
	default:
		return "≤ " + f.Unit.text(*f.Limit)
	}
}

func (u Unit) text(v float64) string {
	switch u {
	case Bytes:
		return bytesText(v)
	case Seconds:
		return durationText(v)
	case Ratio:
		return strconv.FormatFloat(math.Round(v*1000)/10, 'f', -1, 64) + " %"
	default:
		return countText(v)
	}
}

// countText groups the digits of a whole number.
func countText(v float64) string {
	digits := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func bytesText(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	unit := 0
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	precision := 1
	if v == math.Trunc(v) || v >= 100 {
		precision = 0
	}
	return strconv.FormatFloat(v, 'f', precision, 64) + " " + units[unit]
}

// durationText keeps the two largest units of a duration.
func durationText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= 24*time.Hour:
		d = d.Truncate(time.Hour)
	case d >= time.Hour:
		d = d.Truncate(time.Minute)
	default:
		d = d.Truncate(time.Second)
	}
	return model.Duration(d).String()
}
