package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/units"
	"github.com/prometheus/common/model"
)

// Size is a number of bytes. It is written as a plain number of bytes, with a
// binary unit ("128MiB") or with a decimal one ("512MB").
type Size int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := parseSize(string(text))
	if err != nil {
		return errors.New("is not a size: write bytes, 128MiB or 512MB")
	}
	*s = n
	return nil
}

func parseSize(text string) (Size, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 0 {
			return 0, strconv.ErrRange
		}
		return Size(n), nil
	}
	if strings.HasPrefix(text, "-") {
		return 0, strconv.ErrRange
	}
	n, err := units.ParseStrictBytes(text)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, strconv.ErrRange
	}
	return Size(n), nil
}

// MarshalText writes the size in the largest binary unit that divides it.
func (s Size) MarshalText() ([]byte, error) {
	names := []string{"", "KiB", "MiB", "GiB", "TiB", "PiB"}
	n, unit := int64(s), 0
	for n != 0 && n%1024 == 0 && unit < len(names)-1 {
		n, unit = n/1024, unit+1
	}
	return []byte(strconv.FormatInt(n, 10) + names[unit]), nil
}

// Duration is a length of time in Prometheus' form: "90s", "6h", "3d".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := model.ParseDuration(string(text))
	if err != nil {
		return errors.New("is not a duration: write 90s, 15m, 6h or 3d")
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText writes the duration in Prometheus' form.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(model.Duration(d).String()), nil
}

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// Number is a count or a ratio that must be finite and not negative.
type Number float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Number) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return errors.New("is not a number of zero or more")
	}
	*n = Number(f)
	return nil
}
