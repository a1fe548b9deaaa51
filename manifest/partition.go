package manifest

import (
	"encoding/binary"
	"iter"
	"math"
	"strings"
)

// PartitionField is a field of a manifest's partition tuples, as the manifest's
// own schema describes it.
type PartitionField struct {
	// ID is the partition field id, which is the same in every spec that has
	// the field; 0 where the manifest does not tell.
	ID   int
	Name string
	// LogicalType is Avro's: "date", "timestamp-micros", "decimal", ...; empty
	// for plain values.
	LogicalType string
	// Scale is the number of decimal places of a decimal.
	Scale int
	// UTC is whether a timestamp is one in UTC rather than a local one.
	UTC bool
}

// Partition is a partition tuple in a canonical form: two tuples of one spec
// are equal when their forms are, whatever Avro types their writers chose.
// Values decodes it.
type Partition string

// The canonical form is one tag and its payload for each value.
const (
	tagNull  = 'n'
	tagInt   = 'i' // zigzag varint
	tagFloat = 'f' // 8 bytes, big-endian
	tagText  = 's' // uvarint length, bytes
	tagBytes = 'b' // likewise
	tagTrue  = 't'
	tagFalse = 'u'
)

// NullPartition is the tuple of as many nulls.
func NullPartition(fields int) Partition {
	return Partition(strings.Repeat(string(rune(tagNull)), fields))
}

func appendInt(form []byte, v int64) []byte {
	return binary.AppendVarint(append(form, tagInt), v)
}

func appendFloat(form []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(form, tagFloat), math.Float64bits(v))
}

// appendBool takes an Avro boolean as it is stored: one byte, 0 or 1.
func appendBool(form []byte, stored []byte) []byte {
	if len(stored) == 1 && stored[0] != 0 {
		return append(form, tagTrue)
	}
	return append(form, tagFalse)
}

func appendContent(form []byte, tag byte, content []byte) []byte {
	form = binary.AppendUvarint(append(form, tag), uint64(len(content)))
	return append(form, content...)
}

// canonicalDecimal drops the bytes that only repeat the sign: one writer stores
// decimals in as few bytes as it takes, another in as many as the type may need.
func canonicalDecimal(unscaled []byte) []byte {
	for len(unscaled) > 1 && (unscaled[0] == 0 && unscaled[1] < 0x80 || unscaled[0] == 0xff && unscaled[1] >= 0x80) {
		unscaled = unscaled[1:]
	}
	return unscaled
}

// Fields are the tuple's values, each as a tuple of its own. A null one equals
// NullPartition(1).
func (p Partition) Fields() iter.Seq[Partition] {
	return func(yield func(Partition) bool) {
		for rest := p; rest != ""; {
			n := 1
			switch rest[0] {
			case tagInt:
				for rest[n] >= 0x80 {
					n++
				}
				n++
			case tagFloat:
				n += 8
			case tagText, tagBytes:
				length, digits := binary.Uvarint([]byte(rest[1:min(len(rest), 1+binary.MaxVarintLen64)]))
				n += digits + int(length)
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// Values returns the tuple's values in the order of its fields: nil, int64,
// float64, bool, string or []byte. Dates, times and decimals are as stored:
// days, microseconds, big-endian unscaled bytes.
func (p Partition) Values() []any {
	var values []any
	for form := []byte(p); len(form) > 0; {
		tag := form[0]
		form = form[1:]
		switch tag {
		case tagNull:
			values = append(values, nil)
		case tagInt:
			v, n := binary.Varint(form)
			values, form = append(values, v), form[n:]
		case tagFloat:
			values, form = append(values, math.Float64frombits(binary.BigEndian.Uint64(form))), form[8:]
		case tagTrue, tagFalse:
			values = append(values, tag == tagTrue)
		case tagText, tagBytes:
			length, n := binary.Uvarint(form)
			content := form[n : n+int(length)]
			form = form[n+int(length):]
			if tag == tagText {
				values = append(values, string(content))
			} else {
				values = append(values, content)
			}
		}
	}
	return values
}
