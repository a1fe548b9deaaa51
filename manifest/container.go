package manifest

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/avro"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// Bounds on what an Avro file may make the reader allocate.
const (
	// maxBlock is for a block, as stored and once inflated. Writers start a new
	// block every 16 to 64 KiB, or with every entry.
	maxBlock = 64 << 20
	// maxHeader is for all of a header, which holds the table's schema.
	maxHeader = 32 << 20
)

// container reads the records of an Avro object container file, block by block.
//
// The Avro library parses the schema; blocks and records are read here, since
// the library refuses integers that every engine reads, and decodes into Go
// values where most of a manifest need only be passed over.
type container struct {
	r     *bufio.Reader
	codec codec
	// read reads a record, of which the partition tuple has these fields.
	read            step
	partitionFields []PartitionField
	sync            [16]byte
	// properties are those of the file's header.
	properties map[string][]byte

	block     []byte
	cursor    cursor
	remaining int64
}

// openContainer reads the header of an Avro file of records that have the
// wanted fields.
func openContainer(r io.Reader, wanted []field) (*container, error) {
	c := &container{r: bufio.NewReaderSize(r, 64<<10)}
	if err := c.checkMagic(); err != nil {
		return nil, err
	}
	var err error
	if c.properties, err = c.header(); err != nil {
		return nil, err
	}
	schema, err := avro.Parse(string(c.properties["avro.schema"]), avro.WithLaxNames(nil))
	if err != nil {
		return nil, fmt.Errorf("%w Avro schema: %w", metadata.ErrCorrupt, err)
	}
	if c.read, c.partitionFields, err = compile(schema, wanted); err != nil {
		return nil, err
	}
	if c.codec, err = newCodec(string(c.properties["avro.codec"])); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *container) close() { c.codec.close() }

// checkMagic tells other file formats by name.
func (c *container) checkMagic() error {
	var magic [4]byte
	if _, err := io.ReadFull(c.r, magic[:]); err != nil {
		return cut(err)
	}
	switch string(magic[:]) {
	case "Obj\x01":
		return nil
	case "PAR1":
		return fmt.Errorf("%w: a Parquet manifest (table format version 4)", metadata.ErrUnsupported)
	case "AGS1":
		return fmt.Errorf("%w: the file is encrypted", metadata.ErrUnsupported)
	default:
		return fmt.Errorf("%w: not an Avro file", metadata.ErrCorrupt)
	}
}

// cut tells a file that ends too early from storage that fails.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w Avro: the file is cut short", metadata.ErrCorrupt)
	}
	return err
}

// long reads an integer between blocks.
func (c *container) long() (int64, error) {
	var u uint64
	for shift := 0; shift < 70; shift += 7 {
		b, err := c.r.ReadByte()
		if err != nil {
			return 0, cut(err)
		}
		u |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(u>>1) ^ -int64(u&1), nil
		}
	}
	return 0, fmt.Errorf("%w Avro: an integer of more than 10 bytes", metadata.ErrCorrupt)
}

// header reads the file's properties and its sync marker.
func (c *container) header() (map[string][]byte, error) {
	properties := map[string][]byte{}
	left := int64(maxHeader)
	text := func() ([]byte, error) {
		length, err := c.long()
		if err != nil {
			return nil, err
		}
		if length < 0 || length > left {
			return nil, fmt.Errorf("%w Avro: a header of more than %d bytes", metadata.ErrCorrupt, maxHeader)
		}
		left -= length
		return readBytes(c.r, nil, length)
	}
	for {
		count, err := c.long()
		if err != nil {
			return nil, err
		}
		if count == 0 {
			break
		}
		if count < 0 {
			// The block's length in bytes follows, which nobody needs here.
			if _, err := c.long(); err != nil {
				return nil, err
			}
			count = -count
		}
		for ; count > 0; count-- {
			left-- // An empty property costs something too.
			key, err := text()
			if err != nil {
				return nil, err
			}
			if properties[string(key)], err = text(); err != nil {
				return nil, err
			}
		}
	}
	if _, err := io.ReadFull(c.r, c.sync[:]); err != nil {
		return nil, cut(err)
	}
	return properties, nil
}

// readBytes reads n bytes into buf. It believes in the announced length only as
// far as bytes arrive.
func readBytes(r io.Reader, buf []byte, n int64) ([]byte, error) {
	const step = 1 << 20
	buf = buf[:0]
	for int64(len(buf)) < n {
		have := len(buf)
		more := int(min(n-int64(have), step))
		if cap(buf)-have < more {
			buf = append(buf, make([]byte, more)...)
		}
		buf = buf[:have+more]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			return nil, cut(err)
		}
	}
	return buf, nil
}

// next reads the next record into r; io.EOF is the end of the file.
func (c *container) next(r *row) error {
	for c.remaining == 0 {
		if len(c.cursor.buf) != c.cursor.pos {
			return fmt.Errorf("%w Avro: %d bytes are left over in a block", metadata.ErrCorrupt, len(c.cursor.buf)-c.cursor.pos)
		}
		if err := c.nextBlock(); err != nil {
			return err
		}
	}
	c.remaining--
	r.reset()
	c.read(&c.cursor, r)
	return c.cursor.err
}

func (c *container) nextBlock() error {
	if _, err := c.r.Peek(1); errors.Is(err, io.EOF) {
		return io.EOF
	}
	count, err := c.long()
	if err != nil {
		return err
	}
	size, err := c.long()
	if err != nil {
		return err
	}
	if count < 0 || size < 0 || size > maxBlock {
		return fmt.Errorf("%w Avro: a block of %d records in %d bytes", metadata.ErrCorrupt, count, size)
	}
	if c.block, err = readBytes(c.r, c.block, size); err != nil {
		return err
	}
	var sync [16]byte
	if _, err := io.ReadFull(c.r, sync[:]); err != nil {
		return cut(err)
	}
	if sync != c.sync {
		return fmt.Errorf("%w Avro: a block does not end where it should", metadata.ErrCorrupt)
	}
	inflated, err := c.codec.inflate(c.block)
	if err != nil {
		return fmt.Errorf("%w Avro: %w", metadata.ErrCorrupt, err)
	}
	// Every record has at least its status or its path.
	if count > int64(len(inflated)) {
		return fmt.Errorf("%w Avro: a block of %d records in %d bytes", metadata.ErrCorrupt, count, len(inflated))
	}
	c.cursor, c.remaining = cursor{buf: inflated}, count
	return nil
}
