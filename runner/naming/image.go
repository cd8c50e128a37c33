package naming

// The places of the image contract (docs/images.md).
const (
	RuntimePath   = "/captf/runtime"   // tofu or terraform, an executable file
	ModulePath    = "/captf/module"    // the module
	ProvidersPath = "/captf/providers" // a filesystem mirror, if there is one
	ConfigPath    = "/captf/config"    // the rendered root is mounted here
	WorkPath      = "/captf/work"      // scratch, mounted or writable
	BinPath       = "/captf/bin"       // the runner is copied here
	KeyPath       = "/captf/key"       // the key of plan hashes is mounted here
)
