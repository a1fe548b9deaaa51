package config

import (
	"math"
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "1": 1, "134217728": 128 << 20, "9223372036854775807": math.MaxInt64,
		"1B": 1, "1KiB": 1024, "128MiB": 128 << 20, "2GiB": 2 << 30, "3TiB": 3 << 40, "1PiB": 1 << 50,
		"1KB": 1000, "512MB": 512_000_000, "1GB": 1_000_000_000, "1.5KiB": 1536,
	} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "-1", "-1MiB", "128 MiB", "128M", "128mib", "MiB", "1e6", "1.5", "0x10", "1_000", "ten", "NaN", "+", "9223372036854775808", "8EiB", "99999999EB",
	} {
		got := Size(42)
		if err := got.UnmarshalText([]byte(text)); err == nil || got != 42 {
			t.Errorf("%q is %d, %v, want an error", text, got, err)
		}
	}
}

func TestSizeShown(t *testing.T) {
	for size, want := range map[Size]string{
		0: "0", 1: "1", 1023: "1023", 1024: "1KiB", 1536: "1536", 128 << 20: "128MiB", 3 << 40: "3TiB", 1 << 60: "1024PiB", math.MaxInt64: "9223372036854775807",
	} {
		text, err := size.MarshalText()
		var again Size
		if err != nil || string(text) != want || again.UnmarshalText(text) != nil || again != size {
			t.Errorf("%d is shown as %s, which is %d", size, text, again)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "15m": 15 * time.Minute, "6h": 6 * time.Hour, "3d": 72 * time.Hour,
		"1w": 7 * 24 * time.Hour, "1y": 365 * 24 * time.Hour, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond,
	} {
		var got Duration
		if err := got.UnmarshalText([]byte(text)); err != nil || time.Duration(got) != want {
			t.Errorf("%q is %v, %v, want %v", text, time.Duration(got), err, want)
		}
		text, err := got.MarshalText()
		var again Duration
		if err != nil || again.UnmarshalText(text) != nil || again != got {
			t.Errorf("%v is shown as %s", time.Duration(got), text)
		}
	}
	for _, text := range []string{"", "1", "90", "-1h", "1.5h", "1 h", "30m1h", "1µs", "soon", "99999999y"} {
		got := Duration(42)
		if err := got.UnmarshalText([]byte(text)); err == nil || got != 42 {
			t.Errorf("%q is %v, %v, want an error", text, time.Duration(got), err)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]Number{"0": 0, "1": 1, "0.25": 0.25, "1e6": 1e6, ".5": 0.5} {
		var got Number
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "-0.1", "NaN", "Inf", "+Inf", "-Inf", "1e999", "1,5", "50%", "many"} {
		got := Number(42)
		if err := got.UnmarshalText([]byte(text)); err == nil || got != 42 {
			t.Errorf("%q is %v, %v, want an error", text, got, err)
		}
	}
}
