package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// What the image has. Its one writable folder is a volume, so that the root can be read-only.
const (
	uid    = 7300 // holdgate inject puts the sidecar under the same user
	binary = "usr/bin/holdgate"
	roots  = "etc/ssl/certs/ca-certificates.crt"
	home   = "var/lib/holdgate"

	documents = "usr/share/doc/holdgate/"
)

// A build is what differs between images.
type build struct {
	Version, Commit string
	Created         time.Time // of the commit: equal inputs make equal images
	License, Notice []byte    // of the program, and of what it is made of
}

// index is the image for each processor. programs are static programs for Linux, by GOARCH.
func (b build) index(programs map[string]string, order []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range order {
		img, err := b.image(arch, programs[arch])
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index, nil
}

func (b build) image(arch, file string) (v1.Image, error) {
	code, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: v1.Time{Time: b.Created},
		Config: v1.Config{
			User:       fmt.Sprintf("%d:%d", uid, uid),
			Entrypoint: []string{"/" + binary},
			Cmd:        []string{"serve"},
			WorkingDir: "/" + home,
			Env: []string{
				"PATH=/" + path.Dir(binary), "HOME=/" + home, "TMPDIR=/" + home, "HOLDGATE_STATE_DIR=/" + home + "/state",
			},
			Volumes:      map[string]struct{}{"/" + home: {}},
			ExposedPorts: map[string]struct{}{"7300/tcp": {}, "7301/tcp": {}},
			Labels: map[string]string{
				"org.opencontainers.image.title":    "holdgate",
				"org.opencontainers.image.version":  b.Version,
				"org.opencontainers.image.revision": b.Commit,
				"org.opencontainers.image.source":   "https://github.com/holdgate/holdgate",
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	})
	if err != nil {
		return nil, err
	}
	program := []entry{
		{name: "usr/share/", mode: 0o755}, {name: "usr/share/doc/", mode: 0o755}, {name: documents, mode: 0o755},
		{name: documents + "LICENSE", mode: 0o644, text: b.License}, {name: documents + "NOTICE", mode: 0o644, text: b.Notice},
		{name: binary, mode: 0o755, text: code},
	}
	for _, files := range [][]entry{b.base(), program} {
		layer, err := b.layer(files)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
			Created: v1.Time{Time: b.Created}, CreatedBy: "deploy/image", Comment: files[len(files)-1].name,
		}}); err != nil {
			return nil, err
		}
	}
	return img, nil
}

// An entry is a file, or a folder where its name ends with a slash.
type entry struct {
	name  string
	mode  int64
	owner int
	text  []byte
}

// base is all but the program: it stays the same between releases, and is pulled once.
func (b build) base() []entry {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file of certificates cannot say that a root counts for some alone
			pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	// Who has the approver's token decides under the user's name, and nobody may decide as holdgate.
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, text: fmt.Appendf(nil, "operator:x:%d:%d:Holdgate:/%s:/sbin/nologin\n", uid, uid, home)},
		{name: "etc/group", mode: 0o644, text: fmt.Appendf(nil, "operator:x:%d:\n", uid)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: roots, mode: 0o644, text: certificates.Bytes()},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: home + "/", mode: 0o700, owner: uid},
	}
}

func (b build) layer(files []entry) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, ModTime: b.Created, Size: int64(len(f.text)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.text == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}
