# An org, a space, an app with a route, services and policies, for terraform.e2e.ts. Written for this test.
terraform {
  required_providers {
    cloudfoundry = {
      source = "cloudfoundry/cloudfoundry"
    }
  }
}

provider "cloudfoundry" {}

variable "bits" {}
variable "suffix" {}

resource "cloudfoundry_org" "org" {
  name        = "terraform"
  labels      = { purpose = "test" }
  annotations = { note = "made by Terraform" }
}

resource "cloudfoundry_org_quota" "quota" {
  name                     = "terraform"
  allow_paid_service_plans = true
  total_memory             = 4096
  instance_memory          = 1024
  total_app_instances      = 10
  total_routes             = 20
  total_services           = 20
}

resource "cloudfoundry_space" "space" {
  name      = "dev"
  org       = cloudfoundry_org.org.id
  allow_ssh = true
  labels    = { purpose = "test" }
}

resource "cloudfoundry_space_quota" "quota" {
  name                     = "terraform"
  allow_paid_service_plans = true
  total_memory             = 2048
  org                      = cloudfoundry_org.org.id
  spaces                   = [cloudfoundry_space.space.id]
}

resource "cloudfoundry_security_group" "group" {
  name                     = "terraform"
  globally_enabled_running = false
  globally_enabled_staging = false
  rules = [
    { protocol = "tcp", destination = "192.168.1.100", ports = "1883,8883", log = true },
    { protocol = "icmp", type = 0, code = 0, destination = "192.168.1.100", log = false },
  ]
  running_spaces = [cloudfoundry_space.space.id]
}

data "cloudfoundry_domain" "apps" {
  name = "apps.localhost"
}

resource "cloudfoundry_domain" "private" {
  name = "terraform.example.org"
  org  = cloudfoundry_org.org.id
}

resource "cloudfoundry_service_instance" "settings" {
  name        = "settings"
  type        = "user-provided"
  space       = cloudfoundry_space.space.id
  tags        = ["one", "two"]
  credentials = jsonencode({ user = "ann", port = 5432 })
}

resource "cloudfoundry_app" "shop" {
  name             = "shop"
  org_name         = cloudfoundry_org.org.name
  space_name       = cloudfoundry_space.space.name
  path             = var.bits
  source_code_hash = filesha256(var.bits)
  memory           = "128M"
  disk_quota       = "256M"
  instances        = 1
  environment      = { GREETING = "hello${var.suffix}" }
  labels           = { tier = "web" }
  routes           = [{ route = "terraform-shop.apps.localhost" }]
  service_bindings = [{ service_instance = cloudfoundry_service_instance.settings.name }]
}

resource "cloudfoundry_app" "cart" {
  name       = "cart"
  org_name   = cloudfoundry_org.org.name
  space_name = cloudfoundry_space.space.name
  path       = var.bits
  stopped    = true
  processes = [
    { type = "web", instances = 2, memory = "64M", health_check_type = "http", health_check_http_endpoint = "/health" },
  ]
}

resource "cloudfoundry_route" "cart" {
  space        = cloudfoundry_space.space.id
  domain       = data.cloudfoundry_domain.apps.id
  host         = "terraform-cart"
  path         = "/cart"
  destinations = [{ app_id = cloudfoundry_app.cart.id }]
  labels       = { tier = "web" }
}

resource "cloudfoundry_network_policy" "shop" {
  policies = [
    { source_app = cloudfoundry_app.shop.id, destination_app = cloudfoundry_app.cart.id, port = "8080", protocol = "tcp" },
    { source_app = cloudfoundry_app.shop.id, destination_app = cloudfoundry_app.cart.id, port = "9000-9010", protocol = "udp" },
  ]
}

data "cloudfoundry_space" "space" {
  name       = "dev"
  org        = cloudfoundry_org.org.id
  depends_on = [cloudfoundry_space.space]
}

output "space" {
  value = data.cloudfoundry_space.space.id
}
