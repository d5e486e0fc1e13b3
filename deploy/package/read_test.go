package packages_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A content is what is in a package or an archive, by its path, which has no slash before it.
type content map[string][]byte

// read opens a package or an archive by the end of its name.
func read(file string) (content, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(file, ".deb"):
		return readDeb(raw)
	case strings.HasSuffix(file, ".rpm"):
		return readRPM(raw)
	case strings.HasSuffix(file, ".zip"):
		return readZip(raw)
	}
	return readTar(bytes.NewReader(raw))
}

func readTar(r io.Reader) (content, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	all, in := content{}, tar.NewReader(z)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if all[strings.TrimPrefix(strings.TrimPrefix(h.Name, "."), "/")], err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
}

func readZip(raw []byte) (content, error) {
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	all := content{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		if all[f.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readDeb reads the files of a package of Debian's: an ar archive with a tar archive in it.
func readDeb(raw []byte) (content, error) {
	rest, ok := bytes.CutPrefix(raw, []byte("!<arch>\n"))
	if !ok {
		return nil, errors.New("it is no ar archive")
	}
	for len(rest) >= 60 {
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil || size > len(rest)-60 {
			return nil, fmt.Errorf("the size of %s: %v", name, err)
		}
		if name == "data.tar.gz" {
			return readTar(bytes.NewReader(rest[60 : 60+size]))
		}
		rest = rest[min(60+size+size%2, len(rest)):]
	}
	return nil, errors.New("there is no data.tar.gz")
}

// readRPM reads the files of an RPM package: a lead, the signatures' header, the package's,
// and a cpio archive.
func readRPM(raw []byte) (content, error) {
	const lead = 96
	if len(raw) < lead || !bytes.HasPrefix(raw, []byte{0xed, 0xab, 0xee, 0xdb}) {
		return nil, errors.New("it is no RPM package")
	}
	at := lead
	for _, align := range []int{8, 1} { // the signatures are padded
		if len(raw) < at+16 || !bytes.HasPrefix(raw[at:], []byte{0x8e, 0xad, 0xe8, 1}) {
			return nil, fmt.Errorf("there is no header at %d", at)
		}
		entries, data := int(binary.BigEndian.Uint32(raw[at+8:])), int(binary.BigEndian.Uint32(raw[at+12:]))
		at += 16 + 16*entries + data
		at = (at + align - 1) / align * align
	}
	if at > len(raw) {
		return nil, errors.New("it is cut off")
	}
	z, err := gzip.NewReader(bytes.NewReader(raw[at:]))
	if err != nil {
		return nil, err
	}
	archive, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return readCPIO(archive)
}

// readCPIO reads the files of a cpio archive of the format that is called newc.
func readCPIO(rest []byte) (content, error) {
	const header, nameField, sizeField, modeField = 110, 94, 54, 14
	all := content{}
	for len(rest) >= header && bytes.HasPrefix(rest, []byte("07070")) {
		field := func(at int) int {
			n, _ := strconv.ParseInt(string(rest[at:at+8]), 16, 64) // 0 is caught below
			return int(n)
		}
		name, size := field(nameField), field(sizeField)
		body := (header + name + 3) / 4 * 4
		if name == 0 || len(rest) < body+size {
			return nil, errors.New("the cpio archive is cut off")
		}
		path := strings.TrimPrefix(strings.TrimPrefix(string(rest[header:header+name-1]), "."), "/")
		if path == "TRAILER!!!" {
			return all, nil
		}
		if field(modeField)&0o170000 == 0o100000 {
			all[path] = rest[body : body+size]
		}
		rest = rest[min(body+(size+3)/4*4, len(rest)):]
	}
	return nil, errors.New("the cpio archive has no end")
}
