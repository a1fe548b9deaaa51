package inventory

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// maxLine bounds a row. The longest values are a key, of 1 KiB before it is
// encoded, and an access control list of at most 100 grants.
const maxLine = 256 << 10

// readCSV visits the objects of a CSV file. Rows have no line breaks within them:
// what S3 writes is encoded where it could have some.
func readCSV(source io.Reader, c columns, w *walk) error {
	inflated, err := gzip.NewReader(source)
	if err != nil {
		return corrupt(noEnd(err))
	}
	defer inflated.Close()
	lines := bufio.NewReaderSize(inflated, maxLine)
	r := rowReader{columns: c, fields: make([][]byte, 0, c.all)}
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return corrupt(fmt.Errorf("line %d: %w", n, err))
		}
		if len(line) > 0 {
			if err := r.read(line, w); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if err != nil {
			return nil
		}
	}
}

// noEnd is for where a file must not end.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// rowReader reads rows. Its memory is used again for each.
type rowReader struct {
	columns
	fields [][]byte
	key    []byte
}

// read visits the object of a row, unless it is not looked for.
func (r *rowReader) read(line []byte, w *walk) error {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	var err error
	if r.fields, err = split(line, r.fields[:0]); err != nil {
		return err
	}
	if len(r.fields) != r.all {
		return fmt.Errorf("%w: %d fields instead of %d", metadata.ErrCorrupt, len(r.fields), r.all)
	}
	if r.key, err = unescape(r.fields[r.columns.key], r.key[:0]); err != nil {
		return err
	}
	if !w.wants(r.key) {
		return nil
	}
	if r.latest >= 0 {
		latest, err := parseBool(r.fields[r.latest])
		if err != nil {
			return err
		}
		marker, err := parseBool(r.fields[r.marker])
		if err != nil {
			return err
		}
		if !latest || marker {
			return nil
		}
	}
	size, err := strconv.ParseInt(string(r.fields[r.size]), 10, 64)
	if err != nil || size < 0 {
		return fmt.Errorf("%w: %q is no size", metadata.ErrCorrupt, r.fields[r.size])
	}
	var modified time.Time
	if modified.UnmarshalText(r.fields[r.modified]) != nil {
		return fmt.Errorf("%w: %q is no date", metadata.ErrCorrupt, r.fields[r.modified])
	}
	return w.add(r.key, size, modified)
}

// split appends the fields of a row, quoted or not.
func split(line []byte, fields [][]byte) ([][]byte, error) {
	for {
		if len(line) == 0 || line[0] != '"' {
			field, rest, more := bytes.Cut(line, []byte(","))
			if bytes.IndexByte(field, '"') >= 0 {
				return nil, fmt.Errorf("%w: a quote within a field", metadata.ErrCorrupt)
			}
			fields, line = append(fields, field), rest
			if !more {
				return fields, nil
			}
			continue
		}
		end, doubled := 1, false
		for {
			next := bytes.IndexByte(line[end:], '"')
			if next < 0 {
				return nil, fmt.Errorf("%w: a quote is not closed", metadata.ErrCorrupt)
			}
			end += next + 1
			if end == len(line) || line[end] != '"' {
				break
			}
			doubled = true
			end++
		}
		field := line[1 : end-1]
		if doubled {
			field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
		}
		fields, line = append(fields, field), line[end:]
		if len(line) == 0 {
			return fields, nil
		}
		if line[0] != ',' {
			return nil, fmt.Errorf("%w: text after a closing quote", metadata.ErrCorrupt)
		}
		line = line[1:]
	}
}

// unescape appends a key that is encoded as in the query of a URL: a space may be
// a plus sign, and a plus sign is always encoded.
func unescape(encoded, key []byte) ([]byte, error) {
	for {
		plain := bytes.IndexAny(encoded, "%+")
		if plain < 0 {
			return append(key, encoded...), nil
		}
		key = append(key, encoded[:plain]...)
		encoded = encoded[plain:]
		if encoded[0] == '+' {
			key, encoded = append(key, ' '), encoded[1:]
			continue
		}
		if len(encoded) < 3 {
			return nil, badEscape(encoded)
		}
		high, low := hexDigit(encoded[1]), hexDigit(encoded[2])
		if high|low > 0xf {
			return nil, badEscape(encoded[:3])
		}
		key, encoded = append(key, high<<4|low), encoded[3:]
	}
}

func badEscape(escape []byte) error {
	return fmt.Errorf("%w: %q in a key is no escape of a character", metadata.ErrCorrupt, escape)
}

// hexDigit returns the value of a digit, and more than 15 for what is none.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	default:
		return 0xff
	}
}

// parseBool reads a truth value, which documents spell with a capital and reports
// without.
func parseBool(field []byte) (bool, error) {
	switch {
	case bytes.EqualFold(field, []byte("true")):
		return true, nil
	case bytes.EqualFold(field, []byte("false")):
		return false, nil
	default:
		return false, fmt.Errorf("%w: %q is neither true nor false", metadata.ErrCorrupt, field)
	}
}
