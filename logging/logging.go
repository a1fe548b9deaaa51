// Package logging makes the exporter's log: go-kit lines without secrets, with a
// bridge for libraries that log through log/slog.
package logging

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// Levels are the names of the log levels, from the most to the least told.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// Formats are the names of the log formats.
func Formats() []string { return []string{"logfmt", "json"} }

// New returns a logger that writes lines from this level on, and none of the
// texts that secrets returns.
func New(w io.Writer, minimum, format string, secrets func() []string) (log.Logger, error) {
	allowed, err := level.Parse(minimum)
	if err != nil {
		return nil, fmt.Errorf("log level %q: want one of %v", minimum, Levels())
	}
	synced := log.NewSyncWriter(w)
	var lines log.Logger
	switch format {
	case "logfmt":
		lines = log.NewLogfmtLogger(synced)
	case "json":
		lines = log.NewJSONLogger(synced)
	default:
		return nil, fmt.Errorf("log format %q: want one of %v", format, Formats())
	}
	lines = level.NewFilter(&redactor{next: lines, secrets: secrets}, level.Allow(allowed))
	return log.With(lines, "ts", log.DefaultTimestampUTC), nil
}

// redactor keeps secrets out of a log, wherever an error or a library puts them.
type redactor struct {
	next    log.Logger
	secrets func() []string
}

// query matches the query of a URL: signed URLs carry their signature there.
var query = regexp.MustCompile(`(\w+://[^\s"'?]+)\?[^\s"']+`)

// bearer matches a token that a server sends back.
var bearer = regexp.MustCompile(`(?i)\b(bearer)\s+[A-Za-z0-9._~+/=-]+`)

// userinfo matches the password in a URL.
var userinfo = regexp.MustCompile(`(\w+://[^\s"'/@:]*):[^\s"'/]+@`)

// Log implements log.Logger.
func (r *redactor) Log(keyvals ...any) error {
	secrets := slices.Clone(r.secrets())
	// A secret that begins another one must not leave the rest of that one.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	clean := make([]any, len(keyvals))
	for i, value := range keyvals {
		clean[i] = value
		if text, ok := plainText(value); ok {
			clean[i] = redact(text, secrets)
		}
	}
	return r.next.Log(clean...)
}

// plainText returns the text of values that may hold a secret.
func plainText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case nil, level.Value, bool, int, int64, uint64, float64:
		return "", false
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	default:
		return fmt.Sprint(v), true // Which also gets over methods that panic.
	}
}

func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}
	text = bearer.ReplaceAllString(text, "$1 <secret>")
	text = userinfo.ReplaceAllString(text, "$1:<secret>@")
	return query.ReplaceAllString(text, "$1?<secret>")
}
