package logging

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/go-kit/log/level"
)

// TestSlogtest holds the bridge to what slog asks of handlers. Groups are dots in
// the names of fields, and the time is called ts.
func TestSlogtest(t *testing.T) {
	var buffer *bytes.Buffer
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		logger, written := newLogger(t, "debug", "json")
		buffer = written
		return Slog(logger).Handler()
	}, func(t *testing.T) map[string]any {
		if strings.HasSuffix(t.Name(), "/zero-time") {
			t.Skip("ts is when a line is written, whatever the record's time")
		}
		var fields map[string]any
		if err := json.Unmarshal(buffer.Bytes(), &fields); err != nil {
			t.Fatalf("%v: %s", err, buffer)
		}
		nested := map[string]any{}
		for name, value := range fields {
			if name == "ts" {
				name = slog.TimeKey
			}
			groups := strings.Split(name, ".")
			at := nested
			for _, group := range groups[:len(groups)-1] {
				if at[group] == nil {
					at[group] = map[string]any{}
				}
				at = at[group].(map[string]any)
			}
			at[groups[len(groups)-1]] = value
		}
		return nested
	})
}

func TestSlogFields(t *testing.T) {
	logger, buffer := newLogger(t, "debug", "logfmt")
	Slog(logger).With("a", 1).WithGroup("g").With("b", "two words").WithGroup("").WithGroup("h").
		Warn("a message", "c", true, slog.Group("i", "d", 1.5, slog.Group("j", "e", "x")), slog.Any("none", nil))
	_, rest, _ := strings.Cut(buffer.String(), "Z ")
	if want := `msg="a message" a=1 g.b="two words" g.h.c=true g.h.i.d=1.5 g.h.i.j.e=x g.h.none=null` + "\n"; rest != want {
		t.Errorf("got %s, want %s", rest, want)
	}
}

func TestSlogLevels(t *testing.T) {
	for _, c := range []struct {
		level slog.Level
		want  level.Value
	}{
		{slog.LevelDebug - 4, level.DebugValue()},
		{slog.LevelDebug, level.DebugValue()},
		{slog.LevelInfo - 1, level.DebugValue()},
		{slog.LevelInfo, level.InfoValue()},
		{slog.LevelInfo + 1, level.InfoValue()},
		{slog.LevelWarn, level.WarnValue()},
		{slog.LevelError, level.ErrorValue()},
		{slog.LevelError + 4, level.ErrorValue()},
	} {
		logger, buffer := newLogger(t, "debug", "logfmt")
		Slog(logger).Log(t.Context(), c.level, "x")
		if want := "level=" + c.want.String() + " "; !strings.Contains(buffer.String(), want) {
			t.Errorf("%v: got %s", c.level, buffer)
		}
	}
	logger, buffer := newLogger(t, "warn", "logfmt")
	Slog(logger).Info("x")
	if buffer.Len() > 0 {
		t.Errorf("below the least level: %s", buffer)
	}
}

// TestSlogKeepsBranchesApart: loggers that are made from one share nothing.
func TestSlogKeepsBranchesApart(t *testing.T) {
	logger, buffer := newLogger(t, "debug", "logfmt")
	base := Slog(logger).With("a", 1, "b", 2, "c", 3)
	one, two := base.With("d", "one"), base.With("d", "two")
	one.Info("x")
	two.Info("x", "e", 5)
	one.Info("x", "e", 6)
	var got []string
	for line := range strings.SplitSeq(strings.TrimSpace(buffer.String()), "\n") {
		_, fields, _ := strings.Cut(line, "c=3 ")
		got = append(got, fields)
	}
	if want := "d=one|d=two e=5|d=one e=6"; strings.Join(got, "|") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
