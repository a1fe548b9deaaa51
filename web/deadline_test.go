package web

import (
	"testing"
	"time"
)

func TestScrapeTime(t *testing.T) {
	const offset = 500 * time.Millisecond
	for header, want := range map[string]time.Duration{
		"":        9500 * time.Millisecond,
		"10":      9500 * time.Millisecond,
		"2.5":     2 * time.Second,
		"0.4":     200 * time.Millisecond,
		"0":       9500 * time.Millisecond,
		"-1":      9500 * time.Millisecond,
		"NaN":     9500 * time.Millisecond,
		"+Inf":    9500 * time.Millisecond,
		"1e300":   9500 * time.Millisecond,
		"ten":     9500 * time.Millisecond,
		"120":     119500 * time.Millisecond,
		"10, 300": 9500 * time.Millisecond,
	} {
		if got := scrapeTime(header, offset); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
