package manifest

import (
	"encoding/binary"
	"fmt"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// cursor reads Avro binary values out of a block. The first value that does not
// fit in what is left sets err and moves the cursor to the end, after which
// every value is zero; so a loop needs to look at err only once a round.
type cursor struct {
	buf []byte
	pos int
	err error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w Avro: %s", metadata.ErrCorrupt, fmt.Sprintf(format, args...))
	}
	c.pos = len(c.buf)
}

// unsigned reads a variable-length integer. Like Avro's Java decoder, which the
// engines read with, it drops the bits above the 64th: some files have them.
func (c *cursor) unsigned() uint64 {
	var value uint64
	for shift := 0; shift < 70; shift += 7 {
		if c.pos >= len(c.buf) {
			c.fail("an integer is cut short")
			return 0
		}
		b := c.buf[c.pos]
		c.pos++
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	c.fail("an integer of more than 10 bytes")
	return 0
}

// long reads an int or a long.
func (c *cursor) long() int64 {
	u := c.unsigned()
	return int64(u>>1) ^ -int64(u&1)
}

// skipLong passes over an int or a long.
func (c *cursor) skipLong() {
	for range 10 {
		if c.pos >= len(c.buf) {
			break
		}
		b := c.buf[c.pos]
		c.pos++
		if b < 0x80 {
			return
		}
	}
	c.fail("an integer is cut short or too long")
}

// take returns the next n bytes, as part of the block.
func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.buf)-c.pos) {
		c.fail("%d bytes were announced where %d are left", n, len(c.buf)-c.pos)
		return nil
	}
	taken := c.buf[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return taken
}

// bytes reads a string or bytes, as part of the block.
func (c *cursor) bytes() []byte { return c.take(c.long()) }

func (c *cursor) fixed64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (c *cursor) fixed32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// blocks takes a step for every item of an array or a map.
func (c *cursor) blocks(r *row, item step) {
	for c.err == nil {
		count := c.long()
		if count == 0 {
			return
		}
		if count < 0 {
			// A negative count is followed by the block's length in bytes.
			c.long()
			count = -count
		}
		for ; item != nil && count > 0 && c.err == nil; count-- {
			item(c, r)
		}
	}
}
