package image

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/captf/captf-runner/runner/naming"
)

// checkProviders compares what the module needs with what the mirror has for the image's platform.
func (i *Image) checkProviders(kind string) (found []Finding) {
	if kind == "" {
		kind = i.Labels[LabelRuntime]
	}
	needs, err := requirements(filepath.Join(i.dir, naming.ModulePath), kind)
	if err != nil {
		return []Finding{bad("providers", "the module's requirements cannot be read: %v", err)}
	}
	if len(needs) == 0 {
		return []Finding{good("providers", "the module needs none")}
	}
	if _, _, ok := i.resolve(naming.ProvidersPath); !ok {
		return []Finding{warning("providers", "there is no mirror at %s: every run fetches %d providers from their registries", naming.ProvidersPath, len(needs))}
	}
	mirror := i.mirrored()
	for _, need := range needs {
		found = append(found, need.check(mirror[need.source], i.OS+"_"+i.Arch))
	}
	return found
}

// mirrored are the versions that the mirror has for the image's platform, by source. It may be unpacked, with a folder
// HOST/NAMESPACE/TYPE/VERSION/OS_ARCH, or packed, with a file terraform-provider-TYPE_VERSION_OS_ARCH.zip.
func (i *Image) mirrored() map[string][]string {
	versions := map[string][]string{}
	platform := i.OS + "_" + i.Arch
	for name := range i.tree(naming.ProvidersPath) {
		rel, ok := strings.CutPrefix(name, naming.ProvidersPath+"/")
		if !ok {
			continue
		}
		parts := strings.Split(rel, "/")
		source := strings.ToLower(path.Join(parts[:min(3, len(parts))]...))
		switch len(parts) {
		case 4: // packed
			file, zip := strings.CutSuffix(parts[3], "_"+platform+".zip")
			if v, ok := strings.CutPrefix(file, "terraform-provider-"+parts[2]+"_"); zip && ok {
				versions[source] = append(versions[source], v)
			}
		case 6: // unpacked, with something in it
			if parts[4] == platform && strings.HasPrefix(parts[5], "terraform-provider-") && !slices.Contains(versions[source], parts[3]) {
				versions[source] = append(versions[source], parts[3])
			}
		}
	}
	return versions
}

// check finds the newest version that every constraint allows.
func (need requirement) check(versions []string, platform string) Finding {
	if len(versions) == 0 {
		return bad("providers", "%s: the mirror has none for %s", need.source, platform)
	}
	slices.Sort(versions)
	var fit *version.Version
	for _, text := range versions {
		v, err := version.NewVersion(text)
		if err != nil {
			continue
		}
		ok, err := need.allows(v)
		if err != nil {
			return bad("providers", "%s: %v", need.source, err)
		}
		if ok && (fit == nil || v.GreaterThan(fit)) {
			fit = v
		}
	}
	switch {
	case fit == nil:
		return bad("providers", "%s: the mirror has %s, the module wants %s", need.source, strings.Join(versions, ", "), need.wants())
	case need.locked != "" && !slices.Contains(versions, need.locked):
		return warning("providers", "%s: the lock file has %s, the mirror has %s", need.source, need.locked, strings.Join(versions, ", "))
	}
	return good("providers", "%s %s", need.source, fit)
}

func (need requirement) allows(v *version.Version) (bool, error) {
	for _, text := range need.constraints {
		c, err := version.NewConstraint(text)
		if err != nil {
			return false, fmt.Errorf("version %q: %w", text, err)
		}
		if !c.Check(v) {
			return false, nil
		}
	}
	return true, nil
}

func (need requirement) wants() string { return strings.Join(need.constraints, " and ") }
