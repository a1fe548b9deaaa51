package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// newLogger returns a logger that writes to a buffer.
func newLogger(t *testing.T, minimum, format string, secrets ...string) (log.Logger, *bytes.Buffer) {
	t.Helper()
	var buffer bytes.Buffer
	logger, err := New(&buffer, minimum, format, func() []string { return secrets })
	if err != nil {
		t.Fatal(err)
	}
	return logger, &buffer
}

func TestNewRefusesOtherNames(t *testing.T) {
	for _, c := range []struct{ level, format, want string }{
		{"loud", "logfmt", `log level "loud": want one of [debug info warn error]`},
		{"", "json", `log level "": want one of [debug info warn error]`},
		{"info", "xml", `log format "xml": want one of [logfmt json]`},
	} {
		logger, err := New(&bytes.Buffer{}, c.level, c.format, nil)
		if logger != nil || err == nil || err.Error() != c.want {
			t.Errorf("%+v gave %v", c, err)
		}
	}
}

func TestLevels(t *testing.T) {
	for i, minimum := range Levels() {
		for _, format := range Formats() {
			logger, buffer := newLogger(t, minimum, format)
			for j, name := range Levels() {
				buffer.Reset()
				_ = level.NewInjector(logger, level.ParseDefault(name, nil)).Log("msg", "x")
				if told := buffer.Len() > 0; told != (j >= i) {
					t.Errorf("%s at %s: told is %v", name, minimum, told)
				}
				if j >= i && !strings.Contains(buffer.String(), name) {
					t.Errorf("the level %s is missing in %s", name, buffer)
				}
			}
		}
	}
}

func TestFormats(t *testing.T) {
	write := func(format string) string {
		logger, buffer := newLogger(t, "debug", format)
		_ = level.Warn(log.With(logger, "catalog", "lake")).Log("msg", "two words", "n", 3, "ok", true, "ratio", 0.5,
			"err", errors.New("no"), "took", 90*time.Second, "at", time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), "none", nil)
		return buffer.String()
	}
	logfmt := write("logfmt")
	const want = `catalog=lake msg="two words" n=3 ok=true ratio=0.5 err=no took=1m30s at=2026-05-04T03:02:01Z none=null` + "\n"
	stamp, rest, _ := strings.Cut(strings.TrimPrefix(logfmt, "level=warn "), " ")
	if rest != want {
		t.Errorf("got %s", logfmt)
	}
	if _, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(stamp, "ts=")); err != nil || !strings.HasSuffix(stamp, "Z") {
		t.Errorf("%s: %v", stamp, err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(write("json")), &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "ts")
	asJSON := map[string]any{
		"level": "warn", "catalog": "lake", "msg": "two words", "n": 3.0, "ok": true, "ratio": 0.5,
		"err": "no", "took": "1m30s", "at": "2026-05-04T03:02:01Z", "none": nil,
	}
	if fmt.Sprint(fields) != fmt.Sprint(asJSON) {
		t.Errorf("got %v, want %v", fields, asJSON)
	}
}

func TestLinesStayLines(t *testing.T) {
	for _, format := range Formats() {
		logger, buffer := newLogger(t, "info", format)
		_ = level.Info(logger).Log("msg", "one\nlevel=error msg=\"forged\"\x00")
		if strings.Count(buffer.String(), "\n") != 1 {
			t.Errorf("got %s", buffer)
		}
	}
}

// text is a value that prints itself.
type text string

func (s text) String() string { return string(s) }

// broken is an error whose methods cannot be called.
type broken struct{ message string }

func (b *broken) Error() string { return b.message }

func TestRedaction(t *testing.T) {
	const begins, secret = "planted", "planted-secret"
	signed := &url.URL{Scheme: "https", Host: "bucket", Path: "/key", RawQuery: "X-Amz-Signature=planted1"}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"known":           {"it is " + secret + ", " + secret, "it is <secret>, <secret>"},
		"known, shorter":  {"it is " + begins, "it is <secret>"},
		"none":            {"https://host/path and user@host: fine", "https://host/path and user@host: fine"},
		"error":           {fmt.Errorf("wrapped: %w", errors.New(secret)), "wrapped: <secret>"},
		"url error":       {&url.Error{Op: "Get", URL: signed.String(), Err: errors.New("no")}, `Get "https://bucket/key?<secret>": no`},
		"url":             {signed, "https://bucket/key?<secret>"},
		"stringer":        {text(secret), "<secret>"},
		"bytes":           {[]byte{1, 2}, "[1 2]"},
		"list":            {[]string{"a", secret}, "[a <secret>]"},
		"struct":          {struct{ A, B string }{"a", secret}, "{a <secret>}"},
		"map":             {map[string]any{"a": secret}, "map[a:<secret>]"},
		"typed nil error": {(*broken)(nil), "<nil>"},
		"query":           {"GET https://h/p?a=b&c=d failed, see s3://b/k?x and 'gs://b/k?y'", "GET https://h/p?<secret> failed, see s3://b/k?<secret> and 'gs://b/k?<secret>'"},
		"question":        {"is it https://host/path? yes", "is it https://host/path? yes"},
		"password":        {"postgresql://user:pa55w0rd@host:5432/db", "postgresql://user:<secret>@host:5432/db"},
		"odd password":    {"postgresql://user:p@55:w@host/db", "postgresql://user:<secret>@host/db"},
		"only a password": {"redis://:pa55w0rd@host", "redis://:<secret>@host"},
		"both":            {"https://u:p@h/x?y=z", "https://u:<secret>@h/x?<secret>"},
		"port":            {"thrift://host:9083/a@b", "thrift://host:9083/a@b"},
		"azure":           {"abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"},
	} {
		t.Run(name, func(t *testing.T) {
			logger, buffer := newLogger(t, "info", "json", begins, secret)
			_ = level.Info(logger).Log("value", c.value)
			_ = level.Info(log.With(logger, "value", c.value)).Log()
			Slog(logger).With("value", c.value).Info("")
			Slog(logger).Info("", slog.Group("", "value", c.value))
			for line := range strings.SplitSeq(strings.TrimSpace(buffer.String()), "\n") {
				var fields map[string]any
				if err := json.Unmarshal([]byte(line), &fields); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				if fields["value"] != c.want {
					t.Errorf("got %q, want %q", fields["value"], c.want)
				}
			}
		})
	}
}

// TestSecretsAreThoseOfTheMoment: catalogs come to know secrets while they run.
func TestSecretsAreThoseOfTheMoment(t *testing.T) {
	var secrets []string
	var buffer bytes.Buffer
	logger, err := New(&buffer, "info", "logfmt", func() []string { return secrets })
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"first-secret", "second-secret"} {
		secrets = append(secrets, secret)
		buffer.Reset()
		_ = level.Error(logger).Log("err", strings.Join(secrets, ","))
		if strings.Contains(buffer.String(), "-secret") {
			t.Errorf("got %s", &buffer)
		}
	}
	// They belong to whoever returned them.
	if secrets[0] != "first-secret" || secrets[1] != "second-secret" {
		t.Errorf("the secrets became %v", secrets)
	}
}

func TestConcurrentLines(t *testing.T) {
	const writers, lines = 8, 200
	for _, format := range Formats() {
		logger, buffer := newLogger(t, "debug", format, "short-secret", "a-longer-secret")
		slogger := Slog(logger).With("shared", "x").WithGroup("g")
		var running sync.WaitGroup
		for w := range writers {
			running.Go(func() {
				for range lines {
					if w%2 == 0 {
						_ = level.Info(logger).Log("msg", "from go-kit", "err", "a-longer-secret")
					} else {
						slogger.Debug("from slog", "writer", w, "err", "short-secret")
					}
				}
			})
		}
		running.Wait()
		got := strings.Split(strings.TrimSuffix(buffer.String(), "\n"), "\n")
		if len(got) != writers*lines {
			t.Errorf("%s: %d lines, want %d", format, len(got), writers*lines)
		}
		for _, line := range got {
			if strings.Count(line, "from ") != 1 || strings.Count(line, "<secret>") != 1 && !strings.Contains(line, `\u003csecret\u003e`) {
				t.Fatalf("%s: %s", format, line)
			}
		}
	}
}
