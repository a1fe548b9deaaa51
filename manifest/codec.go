package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// errTooLarge is a block that inflates to more than it may.
var errTooLarge = fmt.Errorf("a block inflates to more than %d bytes", maxBlock)

// codec inflates blocks of at most maxBlock bytes. What inflate returns is
// valid until it is called again.
type codec interface {
	inflate(stored []byte) ([]byte, error)
	close()
}

// newCodec returns the codec of this name in the Avro specification.
func newCodec(name string) (codec, error) {
	switch name {
	case "", "null":
		return stored{}, nil
	case "deflate":
		return &deflated{r: flate.NewReader(nil)}, nil
	case "snappy":
		return &snappied{}, nil
	case "zstandard":
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return &zstandard{d: d}, nil
	default:
		return nil, fmt.Errorf("%w: Avro codec %q", metadata.ErrUnsupported, name)
	}
}

type stored struct{}

func (stored) inflate(block []byte) ([]byte, error) { return block, nil }
func (stored) close()                               {}

type deflated struct {
	r   io.ReadCloser
	src bytes.Reader
	out bytes.Buffer
}

func (d *deflated) inflate(block []byte) ([]byte, error) {
	d.src.Reset(block)
	if err := d.r.(flate.Resetter).Reset(&d.src, nil); err != nil {
		return nil, err
	}
	d.out.Reset()
	n, err := d.out.ReadFrom(io.LimitReader(d.r, maxBlock+1))
	if n > maxBlock {
		return nil, errTooLarge
	}
	return d.out.Bytes(), err
}

func (d *deflated) close() { _ = d.r.Close() }

type snappied struct{ out []byte }

// inflate checks the CRC-32 of the content, which Avro puts behind a snappy block.
func (s *snappied) inflate(block []byte) ([]byte, error) {
	if len(block) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	body, sum := block[:len(block)-4], binary.BigEndian.Uint32(block[len(block)-4:])
	size, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, err
	}
	if size > maxBlock {
		return nil, errTooLarge
	}
	if s.out, err = snappy.Decode(s.out[:cap(s.out)], body); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(s.out) != sum {
		return nil, errors.New("the checksum of a block is wrong")
	}
	return s.out, nil
}

func (s *snappied) close() {}

type zstandard struct {
	d   *zstd.Decoder
	out []byte
}

func (z *zstandard) inflate(block []byte) ([]byte, error) {
	var err error
	z.out, err = z.d.DecodeAll(block, z.out[:0])
	return z.out, err
}

func (z *zstandard) close() { z.d.Close() }
