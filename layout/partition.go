package layout

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// PartitionName writes a partition as field=value/field=value, with values in
// the words of Iceberg's transforms (day=2026-11-30) and with "/", "=" and "%"
// in them escaped as in a URL. Fields with the void transform are left out.
func PartitionName(spec metadata.Spec, fields []manifest.PartitionField, tuple manifest.Partition) string {
	var parts []string
	for i, value := range tuple.Values() {
		name, transform := fields[i].Name, "identity"
		if i < len(spec.Fields) {
			// The spec has the name before it was made fit for Avro.
			name, transform = spec.Fields[i].Name, spec.Fields[i].Transform
		}
		if transform == "void" {
			continue
		}
		parts = append(parts, escape(name)+"="+escape(valueText(transform, fields[i], value)))
	}
	return strings.Join(parts, "/")
}

// unifiedKey identifies a tuple by its values that are not null, whatever spec
// it is of.
func unifiedKey(fields []manifest.PartitionField, tuple manifest.Partition) string {
	var parts []string
	for i, value := range tuple.Values() {
		if value != nil {
			parts = append(parts, fmt.Sprintf("%d %s %T %v", fields[i].ID, fields[i].Name, value, value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}

var escaper = strings.NewReplacer("%", "%25", "/", "%2F", "=", "%3D")

func escape(text string) string { return escaper.Replace(strings.ToValidUTF8(text, "\uFFFD")) }

func valueText(transform string, field manifest.PartitionField, value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case int64:
		return intText(transform, field, v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	case []byte:
		return bytesText(field, v)
	default:
		return fmt.Sprint(v)
	}
}

// intText follows the human strings of org.apache.iceberg.transforms.
func intText(transform string, field manifest.PartitionField, v int64) string {
	switch transform {
	case "year":
		return fmt.Sprintf("%04d", 1970+v)
	case "month":
		return time.Date(1970, time.January, 1, 0, 0, 0, 0, time.UTC).AddDate(0, int(v), 0).Format("2006-01")
	case "day":
		return dateText(v)
	case "hour":
		return time.Unix(v*3600, 0).UTC().Format("2006-01-02-15")
	case "identity":
	default:
		if !strings.HasPrefix(transform, "truncate") {
			return strconv.FormatInt(v, 10)
		}
	}
	switch field.LogicalType {
	case "date":
		return dateText(v)
	case "time-micros":
		return time.UnixMicro(v).UTC().Format("15:04:05.999999")
	case "timestamp-micros":
		return timestampText(time.UnixMicro(v), field.UTC)
	case "timestamp-nanos":
		return timestampText(time.Unix(0, v), field.UTC)
	default:
		return strconv.FormatInt(v, 10)
	}
}

func dateText(days int64) string {
	return time.Unix(0, 0).UTC().AddDate(0, 0, int(days)).Format(time.DateOnly)
}

func timestampText(t time.Time, utc bool) string {
	text := t.UTC().Format("2006-01-02T15:04:05.999999999")
	if utc {
		text += "+00:00"
	}
	return text
}

func bytesText(field manifest.PartitionField, v []byte) string {
	switch {
	case field.LogicalType == "decimal":
		return decimalText(v, field.Scale)
	case field.LogicalType == "uuid" && len(v) == 16:
		return uuid.UUID(v).String()
	default:
		return hex.EncodeToString(v)
	}
}

// decimalText writes big-endian two's complement with a number of decimal places.
func decimalText(unscaled []byte, scale int) string {
	n := new(big.Int).SetBytes(unscaled)
	if len(unscaled) > 0 && unscaled[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(unscaled))))
	}
	digits := n.Text(10)
	sign := ""
	if n.Sign() < 0 {
		sign, digits = "-", digits[1:]
	}
	if scale <= 0 {
		return sign + digits
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
