"""Records of the serializers of other registries than Confluent's: AWS Glue and Apicurio. Only read."""
